import { once } from "node:events";
import { connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import {
  type DiscoveryServer,
  type DiscoveryServerOptions,
  startDiscoveryServer,
} from "../support/discovery/server.ts";
import { openDelta, openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

/** xDS on the HTTP port and nowhere else. */
const start = async (options: DiscoveryServerOptions = {}): Promise<DiscoveryServer> =>
  opened.add(
    await startDiscoveryServer({ ports: { http: { host: "127.0.0.1", port: 0 } }, sharesHttpPort: true, ...options }),
  );

/** A request over HTTP/2 with prior knowledge. */
async function request({ ports }: DiscoveryServer, headers: OutgoingHttpHeaders, body = "") {
  const session = connectHttp2(`http://127.0.0.1:${ports.http}`);
  try {
    const stream = session.request(headers, { endStream: false });
    stream.end(body);
    const [answer] = (await once(stream, "response")) as [{ ":status": number }];
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return { status: answer[":status"], body: Buffer.concat(chunks).toString() };
  } finally {
    session.destroy();
  }
}

/** Sends each piece when the one before it is surely read, and gives the first bytes that come back. */
async function sendPieces({ ports }: DiscoveryServer, pieces: readonly string[]): Promise<Buffer> {
  const socket = connect({ host: "127.0.0.1", port: ports.http, noDelay: true });
  try {
    await once(socket, "connect");
    const first = once(socket, "data");
    for (const piece of pieces) {
      await new Promise((resolve) => socket.write(piece, resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return (await first)[0] as Buffer;
  } finally {
    socket.destroy();
  }
}

describe.each(["ours", "grpc-js"] as const)("client library %s", (library) => {
  test("is served both protocols of xDS while HTTP/1 stays", async () => {
    const server = await start();
    const sotw = opened.add(openSotw({ port: server.ports.http, library }));
    sotw.send({ node: testNode(), typeUrl: URLS.CDS });
    expect((await sotw.next()).resources.length).toBeGreaterThan(0);
    const delta = opened.add(openDelta({ port: server.ports.http, library }));
    delta.send({ node: testNode(), typeUrl: URLS.CDS });
    expect((await delta.next()).resources.length).toBeGreaterThan(0);
    expect((await server.get("/ready")).status).toBe(200);
    expect(await (await server.get("/debug/adsz")).json()).toMatchObject({ totalClients: 2 });
  });

  test("is reported when the server stops", async () => {
    const server = await start();
    const stream = opened.add(openSotw({ port: server.ports.http, library }));
    stream.send({ node: testNode(), typeUrl: URLS.CDS });
    await stream.next();
    await server.discovery.stop();
    expect((await stream.ended).code).toBe("UNAVAILABLE");
  });
});

test("rules for plaintext clients are those of a port of its own", async () => {
  const server = await start({ auth: { requiresPlaintextIdentity: true } });
  const stream = opened.add(openSotw({ port: server.ports.http }));
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  expect((await stream.ended).code).toBe("UNAUTHENTICATED");
});

describe("pages over HTTP/2", () => {
  test.each([
    { headers: { ":path": "/ready" }, status: 200, says: "ready\n" },
    { headers: { ":path": "/ready", ":method": "HEAD" }, status: 200, says: "" },
    { headers: { ":path": "/nothing" }, status: 404, says: "404 page not found\n" },
    { headers: { ":path": "/debug/list" }, status: 200, says: '"syncz"' },
    { headers: { ":path": "/debug/list", ":authority": "evil.example" }, status: 403, says: 'Host is "evil.example"' },
    { headers: { ":path": "/config", ":method": "PUT" }, body: "{", status: 422, says: "line 1" },
  ])("$headers is answered with $status", async ({ headers, body, status, says }) => {
    const answer = await request(await start(), headers, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(says);
  });

  test("are not mistaken for gRPC, and gRPC of an unknown service is not mistaken for a page", async () => {
    const server = await start();
    const session = connectHttp2(`http://127.0.0.1:${server.ports.http}`);
    const call = { ":method": "POST", ":path": "/ready", "content-type": "application/grpc", te: "trailers" };
    const stream = session.request(call, { endStream: true });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(headers).toMatchObject({ ":status": 200, "content-type": "application/grpc", "grpc-status": "12" });
    session.destroy();
  });
});

describe("the first bytes decide, however they arrive", () => {
  const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const SETTINGS = "\0\0\0\x04\0\0\0\0\0";

  test("HTTP/2, byte by byte", async () => {
    const answer = await sendPieces(await start(), [...PREFACE, SETTINGS]);
    expect(answer[3]).toBe(4); // the type of a frame with settings
  });

  test("HTTP/1 with a method that begins alike, byte by byte", async () => {
    const body = "{";
    const text = `PUT /config HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const answer = await sendPieces(await start(), [...text]);
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 422 /);
  });

  test("a body of megabytes comes in whole", async () => {
    const answer = await (await start()).get("/config", { method: "PUT", body: "x".repeat(5 * 1024 * 1024) });
    expect([answer.status, await answer.text()]).toEqual([413, expect.stringContaining("larger than")]);
  });

  test("a connection that says nothing does not hold up the stop", async () => {
    const server = await start();
    const socket = connect({ host: "127.0.0.1", port: server.ports.http });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    const closed = once(socket, "close");
    await server.discovery.stop();
    await closed;
  });
});

test("without sharing, HTTP/2 on the HTTP port is refused", async () => {
  const server = await start({ sharesHttpPort: false });
  expect((await sendPieces(server, ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])).toString()).toMatch(/^HTTP\/1\.1 400 /);
});
