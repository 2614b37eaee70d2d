import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { wait } from "../../src/base/wait.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { GrpcError } from "../../src/grpc/status.ts";
import { discoveryRequest } from "../../src/protobuf/wire/discovery.ts";
import { serviceEntry } from "../support/discovery/objects.ts";
import {
  type DiscoveryServer,
  type DiscoveryServerOptions,
  startDiscoveryServer,
} from "../support/discovery/server.ts";
import { countPauses } from "../support/wait/count-pauses.ts";
import { openDelta, openSotw, type SotwStream, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

async function start(options: DiscoveryServerOptions = {}): Promise<DiscoveryServer> {
  return opened.add(await startDiscoveryServer(options));
}

function services(count: number, endpoint = "10.0.0.1", first = 0): string {
  return Array.from({ length: count }, (_, index) => {
    const spec = { addresses: [`10.96.${index >> 8}.${index & 255}`], endpoints: [{ address: endpoint }] };
    return JSON.stringify(serviceEntry(`s${first + index}`, spec, "default"));
  }).join("\n---\n");
}

const metric = async (server: DiscoveryServer, name: string): Promise<number> => {
  const text = await (await server.get("/metrics")).text();
  return Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
};

test("a proxy that refuses everything is answered once per change and never in a loop", async () => {
  const server = await start({ files: { "a.yaml": services(1) } });
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  const refuse = ({ typeUrl, nonce }: SotwStream["responses"][number]) =>
    stream.send({ typeUrl, responseNonce: nonce, errorDetail: { code: 3, message: `refused ${typeUrl}` } });
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  refuse(await stream.next());
  stream.send({ typeUrl: URLS.LDS });
  refuse(await stream.next());
  server.write("b.yaml", services(1, "10.0.0.2", 10));
  refuse(await stream.next());
  await expect.poll(() => metric(server, 'pilot_total_xds_rejects{type="cds"}')).toBe(2);
  expect(await metric(server, 'pilot_total_xds_rejects{type="lds"}')).toBe(1);
  expect(stream.responses).toHaveLength(3);
  const [proxy] = (await (await server.get("/debug/syncz")).json()) as {
    resources: Record<string, { lastError?: string }>;
  }[];
  expect(proxy?.resources[URLS.CDS]?.lastError).toBe(`refused ${URLS.CDS}`);
});

test.each([0, -1000])(
  "a client that never reads holds the newest state only, and others go on (send timeout %d)",
  async (sendTimeoutMs) => {
    const server = await start({ files: { "a.yaml": services(400) }, limits: { sendTimeoutMs } });
    // It speaks HTTP/2 by hand and never looks at its socket after the first answer's beginning.
    const deaf = await deafClient(server.ports.grpc);
    opened.defer(() => void deaf.destroy());
    await expect.poll(() => server.discovery.connections.all().length).toBe(1);
    await expect
      .poll(() => server.discovery.connections.all()[0]?.subscriptions.get("CDS")?.nonceSent ?? "")
      .not.toBe("");
    const reader = opened.add(openSotw({ port: server.ports.grpc }));
    reader.send({
      node: testNode({ id: "sidecar~10.10.0.12~reader.default~default.svc.cluster.local" }),
      typeUrl: URLS.CDS,
    });
    await reader.next();
    const sentBefore = await metric(server, 'pilot_xds_pushes{type="cds"}');
    const rounds = 8;
    for (let round = 0; round < rounds; round += 1) {
      server.write("b.yaml", services(2, "10.0.0.9", 1000 + round * 2));
      const { nonce, versionInfo } = await reader.next();
      reader.send({ typeUrl: URLS.CDS, responseNonce: nonce, versionInfo });
    }
    // The deaf one may have been handed one more message while its socket had room, never one per round.
    const sentToDeaf = (await metric(server, 'pilot_xds_pushes{type="cds"}')) - sentBefore - rounds;
    expect(sentToDeaf).toBeLessThanOrEqual(1);
    expect(server.discovery.connections.all()).toHaveLength(2);
  },
);

test("a client that never reads is sent away after the send timeout, where there is one", async () => {
  const server = await start({ files: { "a.yaml": services(400) }, limits: { sendTimeoutMs: 100 } });
  const deaf = await deafClient(server.ports.grpc);
  opened.defer(() => void deaf.destroy());
  await expect.poll(() => metric(server, "pilot_xds_write_timeout")).toBe(1);
  await expect.poll(() => server.discovery.connections.all()).toEqual([]);
});

test("a configuration file rewritten a hundred times in a second leads to at most five pushes", async () => {
  const server = await start({
    files: { "a.yaml": services(1) },
    push: { debounceAfterMs: 100, debounceMaxMs: 10_000 },
  });
  const stream = opened.add(openDelta({ port: server.ports.grpc }));
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  await stream.next();
  const before = server.discovery.pushes;
  const path = join(server.folder, "config", "a.yaml");
  const pauses = countPauses(100);
  const startedAt = performance.now();
  for (let write = 0; write < 100; write += 1) {
    pauses.tick();
    writeFileSync(path, services(1, `10.0.1.${write}`, write));
    const dueAt = startedAt + (write + 1) * 10;
    while (performance.now() < dueAt) await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => server.discovery.snapshot.services.map(({ hostname }) => hostname)).toEqual(["s99.example"]);
  await expect
    .poll(() => stream.responses.at(-1)?.resources.map(({ name }) => name))
    .toContain("outbound|80||s99.example");
  expect(server.discovery.pushes - before).toBeLessThanOrEqual(5 + pauses.count);
});

test("a rule that is put and taken over HTTP a hundred times leads to at most five pushes", async () => {
  const server = await start({ push: { debounceAfterMs: 100, debounceMaxMs: 10_000 } });
  const before = server.discovery.pushes;
  const pauses = countPauses(100);
  for (let write = 0; write < 100; write += 1) {
    pauses.tick();
    const body = services(1, `10.0.1.${write}`, 0);
    const { status } = await server.get("/config/ServiceEntry/default/s0", { method: "PUT", body });
    expect(status).toBe(write === 0 ? 201 : 200);
  }
  await expect.poll(() => server.discovery.snapshot.services.length).toBe(1);
  expect(server.discovery.pushes - before).toBeLessThanOrEqual(5 + pauses.count);
});

test("health reports neither crash the server nor are answered, before and after the first request", async () => {
  const server = await start();
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  const health = "type.googleapis.com/istio.v1.HealthInformation";
  stream.send({ typeUrl: health });
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  await stream.next();
  stream.send({ typeUrl: health, errorDetail: { code: 500, message: "not well" } });
  stream.send({ typeUrl: URLS.LDS });
  expect((await stream.next()).typeUrl).toBe(URLS.LDS);
});

test("bytes that are not a request end the stream, not the server", async () => {
  const server = await start();
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  stream.send({ node: { id: "sidecar~10.0.0.1~a~b", metadata: Buffer.from([0xff, 0xff]) }, typeUrl: URLS.CDS });
  expect((await stream.ended).code).toBe("INVALID_ARGUMENT");
  expect((await server.get("/ready")).status).toBe(200);
});

test("streams beyond the rate wait a second at most, then they are refused", async () => {
  const server = await start({ limits: { streamsPerSecond: 2 } });
  const ends = Array.from({ length: 8 }, () => {
    const stream = opened.add(openSotw({ port: server.ports.grpc }));
    stream.send({ node: testNode(), typeUrl: URLS.CDS });
    return Promise.race([
      stream.ended.then(({ code, message }) => `${code} ${message}`),
      stream.next().then(() => "served"),
    ]);
  });
  const outcomes = await Promise.all(ends);
  expect(outcomes.filter((outcome) => outcome === "served").length).toBeGreaterThanOrEqual(4);
  expect(outcomes).toContain("RESOURCE_EXHAUSTED request rate limit exceeded");
  expect(await metric(server, 'pilot_xds_streams_refused_total{code="RESOURCE_EXHAUSTED"}')).toBeGreaterThan(0);
});

test("a server that stops tells its clients and is gone within its time", async () => {
  const server = await start({ shutdownMs: 60_000 });
  const stream = opened.add(openSotw({ port: server.ports.grpc, library: "grpc-js" }));
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  await stream.next();
  await server.discovery.stop();
  expect((await stream.ended).code).toBe("UNAVAILABLE");
});

test("a client that has not introduced itself does not hold up the stop", async () => {
  const server = await start({ shutdownMs: 15_000 });
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  stream.send({ typeUrl: "type.googleapis.com/istio.v1.HealthInformation" });
  await expect
    .poll(() => server.log.lines.map(({ message }) => message))
    .toContain("health report before the first request is ignored");
  await server.discovery.stop();
  expect(await stream.ended).toEqual({ code: "UNAVAILABLE", message: "the server is stopping" });
});

test("a stream that reached its age is ended, and the client may come back at once", async () => {
  const server = await start({ maxConnectionAgeMs: 100 });
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  expect(await stream.ended).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("age") });
  await expect.poll(() => server.discovery.connections.all()).toEqual([]);
});

test("five hundred clients that come back at once are all served", async () => {
  const server = await start({ files: { "a.yaml": services(20) } });
  const channels = Array.from({ length: 10 }, () => opened.add(openStreams(server.ports.grpc)));
  const all = () => Promise.all(channels.map((channel) => channel.connect(50)));
  await all();
  expect(server.discovery.connections.all()).toHaveLength(500);
  await server.restart();
  await all();
  expect(server.discovery.connections.all()).toHaveLength(500);
});

/** Many streams over one connection; each tries again, as agents do, when the server sends it away. */
function openStreams(port: number) {
  const channel = createGrpcChannel(`127.0.0.1:${port}`, {});
  const method = rawMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", "bidi");
  const request = discoveryRequest.encode({ node: testNode(), typeUrl: URLS.CDS });
  const one = async (attempt = 1): Promise<void> => {
    const call = await channel.bidi(method);
    await call.write(request);
    try {
      expect((await call.responses.next()).done).toBe(false);
    } catch (thrown) {
      if (!(thrown instanceof GrpcError) || attempt === 10) throw thrown;
      await wait(100 * attempt * Math.random());
      await one(attempt + 1);
    }
  };
  return {
    connect: (count: number) => Promise.all(Array.from({ length: count }, () => one())),
    stop: () => channel.stop(),
  };
}

/** A client whose socket is never read after the request is out. */
async function deafClient(port: number) {
  const { connect: connectHttp2 } = await import("node:http2");
  const socket = connect(port, "127.0.0.1");
  const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on("error", () => undefined);
  const request = session.request({
    ":method": "POST",
    ":path": "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
    "content-type": "application/grpc",
    te: "trailers",
  });
  request.on("error", () => undefined);
  const body = discoveryRequest.encode({ node: testNode(), typeUrl: URLS.CDS });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  request.write(Buffer.concat([head, body]));
  request.pause(); // HTTP/2 flow control: the window of 64 KiB is never opened again
  return session;
}
