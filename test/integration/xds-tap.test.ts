import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, Server } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { any, discoveryRequest, discoveryResponse } from "../../src/protobuf/wire/discovery.ts";
import { message, nested, repeated, string, uint32 } from "../../src/protobuf/wire/message.ts";
import { ADS_PATHS } from "../../src/xds/methods.ts";
import { startTap, type TapOptions } from "../../src/xds-proxy/tap/start-tap.ts";
import { listServices } from "../support/grpc/list-services.ts";
import { type ControlPlane, startControlPlane } from "../support/xds/control-plane.ts";

const CLIENT_CONFIG = "type.googleapis.com/envoy.service.status.v3.ClientConfig";
const generic = message({ typeUrl: string(1), configStatus: uint32(6) });
const clientConfig = message({ node: nested(1, message({ id: string(1) })), configs: repeated(3, generic) });
const node = Buffer.from([0x0a, 1, 0x6e]); // id "n"

async function startTapTo(server: ControlPlane | string, connected = true, options: Partial<TapOptions> = {}) {
  return startTap({
    host: "127.0.0.1",
    port: 0,
    upstream: {
      address: typeof server === "string" ? server : server.address,
      headers: {},
      keepalive: { intervalMs: 15_000, timeoutMs: 10_000 },
      connectTimeoutMs: 5000,
    },
    node: () => (connected ? node : undefined),
    log: silentLogger,
    ...options,
  });
}

function get(port: number, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; type: string; body: string }>((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path, headers, agent: false }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode ?? 0, type: response.headers["content-type"] ?? "", body });
    });
    sent.on("error", reject).end();
  });
}

const portOf = (server: unknown) => ((server as Server).address() as AddressInfo).port;

const syncz = discoveryResponse.encode({
  typeUrl: "istio.io/debug/syncz",
  resources: [
    {
      typeUrl: CLIENT_CONFIG,
      value: clientConfig.encode({ node: { id: "app" }, configs: [{ typeUrl: "t", configStatus: 1 }] }),
    },
  ],
});

test("a debug page is asked for on a stream of its own, with the client's node, and shown as JSON", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const asked = get(tap.port, "/debug/syncz?resourceName=a%20b&resourceName=c");
  const stream = await server.stream(0);
  await stream.received(1);
  expect(discoveryRequest.decode(stream.requests[0] ?? Buffer.alloc(0))).toMatchObject({
    typeUrl: "istio.io/debug/syncz",
    resourceNames: ["a b"],
    node: { id: "n" },
  });
  stream.send(discoveryResponse.encode({ typeUrl: "istio.io/debug/other" }));
  stream.send(syncz);
  const answer = await asked;
  expect(answer).toMatchObject({ status: 200, type: "application/json" });
  expect(JSON.parse(answer.body)).toEqual({
    typeUrl: "istio.io/debug/syncz",
    resources: [
      {
        "@type": CLIENT_CONFIG,
        node: { id: "app" },
        genericXdsConfigs: [{ typeUrl: "t", configStatus: "SYNCED" }],
      },
    ],
  });
  expect(answer.body).toContain('\n  "resources": [');
  await stream.closed;
});

test("payloads of unknown types are shown in plain JSON with base64 values", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const asked = get(tap.port, "/debug");
  const stream = await server.stream(0);
  stream.send(
    discoveryResponse.encode({
      typeUrl: "istio.io/debug",
      nonce: "1",
      resources: [any.decode(any.encode({ typeUrl: "unknown/x", value: Buffer.from("hi") }))],
    }),
  );
  expect(JSON.parse((await asked).body)).toEqual({
    type_url: "istio.io/debug",
    nonce: "1",
    resources: [{ type_url: "unknown/x", value: "aGk=" }],
  });
});

test.each([
  { path: "/debug/x?a=%zz", status: 400, body: 'invalid URL escape "%zz"\n' },
  { path: "/debug/x?a;b", status: 400, body: "invalid semicolon separator in query\n" },
  { path: "/other", status: 404, body: "404 page not found\n" },
  { path: "/debug/%zz", status: 400, body: "400 Bad Request\n" },
])("$path is answered with $status", async ({ path, status, body }) => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  expect(await get(tap.port, path)).toMatchObject({ status, body });
});

test.each(["/debug/a%20b", "http://localhost:15004/debug/a%20b?x"])(
  "the path of %s is the page's name",
  async (path) => {
    await using server = await startControlPlane();
    await using tap = await startTapTo(server);
    const asked = get(tap.port, path);
    const stream = await server.stream(0);
    await stream.received(1);
    expect(stream.types()).toEqual(["istio.io/debug/a b"]);
    stream.send(discoveryResponse.encode({ typeUrl: "istio.io/debug/a b" }));
    expect(await asked).toMatchObject({ status: 200 });
  },
);

test("a request that never ends is ended, however slowly it comes", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server, true, { readMs: 200 });
  const socket = connect(tap.port, "127.0.0.1");
  socket.write("GET /debug/syncz HTTP/1.1\r\nhost: x\r\n");
  const dribble = setInterval(() => socket.write("a: b\r\n"), 20);
  const [answer] = await once(socket, "data");
  clearInterval(dribble);
  expect(String(answer)).toContain("408 Request Timeout");
  socket.destroy();
});

test("an upgrade to h2c is refused", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "" };
  expect(await get(tap.port, "/debug/syncz", headers)).toMatchObject({
    status: 405,
    body: "h2c upgrade not allowed\n",
  });
});

test.each<Record<string, string>>([
  { host: "rebound.example" },
  { origin: "http://evil.example" },
  { "sec-fetch-site": "cross-site" },
])("a page of another server, with %j, is refused and nothing is asked", async (headers) => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  expect((await get(tap.port, "/debug/syncz", headers)).status).toBe(403);
  const session = connectHttp2(`http://127.0.0.1:${tap.port}`);
  const { host = "localhost", ...others } = headers;
  const stream = session.request({ ":path": "/debug/syncz", ":authority": host, ...others });
  const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
  session.destroy();
  expect(answer[":status"]).toBe(403);
});

test("without a connected client, or without a control plane, the answer is 503", async () => {
  const server = await startControlPlane();
  const { address } = server;
  await using idle = await startTapTo(server, false);
  expect(await get(idle.port, "/debug/syncz")).toMatchObject({ status: 503, body: "proxy not connected to Istiod\n" });
  await server[Symbol.asyncDispose]();
  await using tap = await startTapTo(address);
  expect(await get(tap.port, "/debug/syncz")).toMatchObject({ status: 503 });
});

test("a refused question is a 504 that says why, and the next one works; no other stream is touched", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const refused = get(tap.port, "/debug/secretz");
  (await server.stream(0)).fail(grpc.status.PERMISSION_DENIED, "the debug info is not available");
  expect(await refused).toMatchObject({ status: 504, body: "the debug info is not available\n" });
  const asked = get(tap.port, "/debug/syncz");
  (await server.stream(1)).send(syncz);
  expect(await asked).toMatchObject({ status: 200 });
});

test("a control plane that does not answer within five seconds is a 504", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const before = performance.now();
  expect(await get(tap.port, "/debug/syncz")).toMatchObject({ status: 504, body: "" });
  // Not before the five seconds; a machine that stands still only adds to them.
  expect(performance.now() - before).toBeGreaterThan(4900);
});

test("HTTP/2 without TLS is spoken too", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const session = connectHttp2(`http://127.0.0.1:${tap.port}`);
  const stream = session.request({ ":path": "/debug/syncz" });
  const status = new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"])));
  stream.resume();
  (await server.stream(0)).send(syncz);
  expect(await status).toBe(200);
  session.destroy();
});

describe("gRPC on the same port", () => {
  async function call(port: number, path: string, first: Buffer) {
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
    const raw = (bytes: Buffer) => bytes;
    const stream = client.makeBidiStreamRequest(path, raw, raw, new grpc.Metadata(), {});
    const responses: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => responses.push(bytes)).on("error", () => undefined);
    stream.write(first);
    const status = await new Promise<grpc.StatusObject>((resolve) => stream.once("status", resolve));
    client.close();
    return { responses, status };
  }
  const ask = (typeUrl: string) => discoveryRequest.encode({ typeUrl, resourceNames: ["x"] });

  test("one question, one answer, and the end", async () => {
    await using server = await startControlPlane();
    await using tap = await startTapTo(server);
    const asked = call(tap.port, ADS_PATHS.sotw, ask("istio.io/debug/syncz"));
    (await server.stream(0)).send(syncz);
    const { responses, status } = await asked;
    expect(status.code).toBe(grpc.status.OK);
    expect(responses.map((bytes) => bytes.equals(syncz))).toEqual([true]);
  });

  test("other types end the stream without an answer, delta is not there, reflection is", async () => {
    await using server = await startControlPlane();
    await using tap = await startTapTo(server);
    expect(await call(tap.port, ADS_PATHS.sotw, ask("type.googleapis.com/x"))).toMatchObject({
      responses: [],
      status: { code: grpc.status.OK },
    });
    expect(await call(tap.port, ADS_PATHS.delta, ask("istio.io/debug/syncz"))).toMatchObject({
      status: { code: grpc.status.UNKNOWN, details: "not implemented" },
    });
    expect((await call(tap.port, "/grpc.health.v1.Health/Check", Buffer.alloc(0))).status).toMatchObject({
      code: grpc.status.UNIMPLEMENTED,
      details: "unknown service grpc.health.v1.Health",
    });
    expect(await listServices(`127.0.0.1:${tap.port}`, "v1")).toContain(
      "envoy.service.discovery.v3.AggregatedDiscoveryService",
    );
    expect(server.streams).toHaveLength(0);
  });

  test("a refused question is answered with an empty response, and without a client it is refused here", async () => {
    await using server = await startControlPlane();
    await using tap = await startTapTo(server);
    const asked = call(tap.port, ADS_PATHS.sotw, ask("istio.io/debug/syncz"));
    (await server.stream(0)).fail(grpc.status.PERMISSION_DENIED, "no");
    const { responses, status } = await asked;
    expect([status.code, responses.map(({ length }) => length)]).toEqual([grpc.status.OK, [0]]);
    await using idle = await startTapTo(server, false);
    expect(await call(idle.port, ADS_PATHS.sotw, ask("istio.io/debug/syncz"))).toMatchObject({
      responses: [],
      status: { code: grpc.status.UNAVAILABLE, details: "proxy not connected to Istiod" },
    });
  });
});

test("connections that cannot be accepted are reported, and the next ones are served", async () => {
  const listening = vi.spyOn(Server.prototype, "listen");
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const listener = listening.mock.contexts.find(
    (each) => (each as Server).address() !== null && portOf(each) === tap.port,
  );
  listening.mockRestore();
  for (const failure of ["first", "second", "third"]) (listener as Server).emit("error", new Error(failure));
  await expect(tap.ended).rejects.toThrow("first");
  expect(await get(tap.port, "/other")).toMatchObject({ status: 404 });
});

test("a taken port is reported in the reference's words", async () => {
  await using server = await startControlPlane();
  await using tap = await startTapTo(server);
  const upstream = {
    address: server.address,
    headers: {},
    keepalive: { intervalMs: 1000, timeoutMs: 1000 },
    connectTimeoutMs: 5000,
  };
  const second = startTap({ host: "127.0.0.1", port: tap.port, upstream, node: () => undefined, log: silentLogger });
  await expect(second).rejects.toThrow(/^failed to start istio tap server: /);
});
