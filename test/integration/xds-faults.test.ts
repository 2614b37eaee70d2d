import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import type { ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { ADS_PATHS } from "../../src/xds/methods.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { listServices } from "../support/grpc/list-services.ts";
import { startRawServer } from "../support/grpc/raw-server.ts";
import { needs } from "../support/needs.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";
import { until } from "../support/wait/until.ts";
import { waitInTurns } from "../support/wait/wait-in-turns.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, EDS, LDS, push, startTestProxy } from "../support/xds/harness.ts";

const envoy = { agent: "envoy" };
const answered = { ":status": 200, "content-type": "application/grpc" } as const;
/** The first half of a response that announces more. */
const half = (message: Buffer) =>
  Buffer.concat([buildFrameHeader(message.length), message.subarray(0, message.length / 2)]);

const REFUSED_STREAM = 7;

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  const large = push(kind, CDS, ["x".repeat(100_000)]);

  test.each([
    {
      what: "resets the stream in the middle of a message",
      misbehave: (stream: ServerHttp2Stream) => stream.close(2),
      status: { code: 13, details: "stream terminated by RST_STREAM with error code: INTERNAL_ERROR" },
      counts: "error",
    },
    {
      what: "cancels it",
      misbehave: (stream: ServerHttp2Stream) => stream.close(8),
      status: { code: 1, details: "stream terminated by RST_STREAM with error code: CANCEL" },
      counts: "cancelled",
    },
    {
      what: "closes the connection",
      misbehave: (stream: ServerHttp2Stream) => stream.session?.destroy(),
      // Which of the two depends on what the kernel had not yet given to who closed.
      status: { code: 14, details: expect.stringMatching(/^error reading from server: (EOF|read ECONNRESET)$/) },
      counts: "(cancelled|error)",
    },
    {
      what: "says that it had enough",
      misbehave: (stream: ServerHttp2Stream) => stream.session?.goaway(11, 0, Buffer.from("too_many_pings")),
      status: { code: 14, details: "received GOAWAY with code ENHANCE_YOUR_CALM: too_many_pings" },
      counts: "error",
    },
  ])("an upstream that $what: the client gets its status and no message", async ({ misbehave, status, counts }) => {
    using socket = socketFolder();
    await using server = await startRawServer((stream) => {
      stream.respond(answered);
      stream.write(half(large), () => misbehave(stream));
    });
    await using running = await startTestProxy(server.target, socket.path);
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    expect(await client.status).toMatchObject(status);
    expect(client.responses).toHaveLength(0);
    await until(async () =>
      new RegExp(`istiod_connection_terminations{type="${counts}"} 1`).test(running.registry.render())
        ? undefined
        : "no count",
    );
    expect(running.registry.render()).toContain('envoy_connection_terminations{type="cancelled"} 1');
  });

  test("GOAWAY without an error leaves the stream alone", async () => {
    using socket = socketFolder();
    const streams: ServerHttp2Stream[] = [];
    await using server = await startRawServer((stream) => {
      streams.push(stream);
      stream.respond(answered, { waitForTrailers: true });
      stream.session?.goaway(0);
    });
    await using _running = await startTestProxy(server.target, socket.path);
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    await until(async () => (streams.length === 1 ? undefined : "no stream"));
    for (const nonce of ["1", "2"]) {
      const message = push(kind, CDS, ["a"], { nonce });
      streams[0]?.write(Buffer.concat([buildFrameHeader(message.length), message]));
    }
    await client.received(2);
    streams[0]?.once("wantTrailers", () => streams[0]?.sendTrailers({ "grpc-status": "0" })).end();
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
  });

  test("an upstream that refuses the stream unseen is asked again, and the client notices nothing", async () => {
    using socket = socketFolder();
    const received: Buffer[] = [];
    let streams = 0;
    await using server = await startRawServer((stream) => {
      streams += 1;
      if (streams === 1) return void stream.once("data", () => stream.close(REFUSED_STREAM));
      stream.on("data", (bytes: Buffer) => received.push(bytes));
      const message = push(kind, CDS, ["a"]);
      stream.respond(answered);
      stream.write(Buffer.concat([buildFrameHeader(message.length), message]));
    });
    await using _running = await startTestProxy(server.target, socket.path);
    await using client = openRawAds(socket.path, kind);
    const request = ask(kind, CDS, envoy);
    client.send(request);
    await client.received(1);
    const sent = Buffer.concat([buildFrameHeader(request.length), request]);
    await until(async () => (Buffer.concat(received).equals(sent) ? undefined : "not sent again"));
    expect(streams).toBe(2);
  });

  test("an upstream that begins a response and does not go on is given up", async () => {
    using socket = socketFolder();
    await using server = await startRawServer((stream) => {
      stream.respond(answered);
      stream.write(half(large));
    });
    await using _running = await startTestProxy(server.target, socket.path, { progressLimitMs: 120 });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    expect(await client.status).toMatchObject({
      code: grpc.status.UNAVAILABLE,
      details: "no progress within 0.12 s: the control plane has begun a response and does not go on",
    });
  });

  test("an upstream that never answers is left alone, and gone when its client leaves", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startTestProxy(server.address, socket.path, { progressLimitMs: 60 });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    const stream = await server.stream(0);
    await stream.received(1);
    // Longer than the limit: silence alone is not a fault. A machine that stands still only adds to it.
    const start = performance.now();
    let sent = 1;
    while (performance.now() - start < 200) {
      client.send(ask(kind, EDS, { names: [`${sent}`] }));
      sent += 1;
      await stream.received(sent);
    }
    const silent = { requests: sent, responses: 0, lastResponseAt: undefined };
    expect(running.proxy.describeStreams()).toMatchObject([silent]);
    client.cancel();
    await stream.closed;
    await until(async () => (running.proxy.describeStreams().length === 0 ? undefined : "still a stream"));
  });

  test("bytes that are not a message end the stream of whoever sent them", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startTestProxy(server.address, socket.path);
    await using first = openRawAds(socket.path, kind);
    first.send(ask(kind, CDS, envoy));
    (await server.stream(0)).send(Buffer.from([0x0b, 0xff, 0xff]));
    expect(await first.status).toMatchObject({
      code: grpc.status.INTERNAL,
      details: expect.stringContaining("grpc: failed to unmarshal the received message"),
    });
    await using second = openRawAds(socket.path, kind);
    second.send(Buffer.from([0x12, 0xff]));
    expect(await second.status).toMatchObject({
      code: grpc.status.INTERNAL,
      details: expect.stringContaining("grpc: failed to unmarshal the received message"),
    });
    expect(running.registry.render()).toContain('istiod_connection_terminations{type="error"} 1');
    expect(running.registry.render()).toContain('envoy_connection_terminations{type="error"} 1');
  });

  test("what a client says right before it half-closes is still said to the control plane", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startTestProxy(server.address, socket.path);
    for (let index = 0; index < 10; index += 1) {
      await using client = openRawAds(socket.path, kind);
      const last = ask(kind, CDS, { nonce: "n", version: "v", names: ["x".repeat(index * 50_000)] });
      client.send(ask(kind, CDS, envoy));
      client.send(last);
      client.halfClose();
      const stream = await server.stream(index);
      expect(await client.status).toMatchObject({ code: grpc.status.OK });
      await stream.received(2);
      expect(stream.requests[1]?.equals(last)).toBe(true);
      await stream.closed;
    }
    expect(running.registry.render()).toContain("istio_agent_xds_proxy_requests 20");
  });

  test("a half-closed stream ends cleanly, and the next one on the same connection works", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path);
    const client = new grpc.Client(`unix:${socket.path}`, grpc.credentials.createInsecure());
    const raw = (bytes: Buffer) => bytes;
    for (const index of [0, 1]) {
      const call = client.makeBidiStreamRequest(ADS_PATHS[kind], raw, raw, new grpc.Metadata(), {});
      call.on("data", () => undefined).on("error", () => undefined);
      const status = once(call, "status");
      call.write(ask(kind, CDS, envoy));
      const stream = await server.stream(index);
      await stream.received(1);
      call.end();
      expect((await status)[0]).toMatchObject({ code: grpc.status.OK });
      await stream.closed;
    }
    client.close();
  });

  test("a client killed in the middle of a push takes its upstream along", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startTestProxy(server.address, socket.path);
    const client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    const stream = await server.stream(0);
    client.pause();
    for (let count = 0; count < 10; count += 1) stream.send(push(kind, CDS, ["x".repeat(2_000_000)]));
    await client[Symbol.asyncDispose]();
    await stream.closed;
    await until(async () => (running.proxy.describeStreams().length === 0 ? undefined : "still a stream"));
  });

  test("200 reconnects leave no descriptor and no stream behind", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startTestProxy(server.address, socket.path);
    const round = async (index: number) => {
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      const stream = await server.stream(index);
      stream.send(push(kind, CDS, ["a"]));
      await client.received(1);
    };
    for (let index = 0; index < 5; index += 1) await round(index);
    const descriptors = () => readdirSync("/proc/self/fd").length;
    const before = descriptors();
    for (let index = 5; index < 205; index += 1) await round(index);
    await until(async () => {
      const [streams, open] = [running.proxy.describeStreams().length, descriptors()];
      return streams === 0 && open <= before ? undefined : `${streams} streams, ${open} descriptors, ${before} before`;
    });
  });

  test("50 clients at once, one of them not reading: the others get everything", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path);
    const clients = Array.from({ length: 50 }, () => openRawAds(socket.path, kind));
    for (const client of clients) client.send(ask(kind, CDS, envoy));
    const streams = await Promise.all(clients.map((_, index) => server.stream(index)));
    const [lazy, ...others] = clients;
    lazy?.pause();
    const message = push(kind, CDS, ["x".repeat(200_000)]);
    for (const stream of streams) for (let count = 0; count < 5; count += 1) stream.send(message);
    await Promise.all(others.map((client) => client.received(5)));
    expect(lazy?.responses.length).toBeLessThan(5);
    lazy?.resume();
    await lazy?.received(5);
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  });
});

test("a frozen upstream is noticed within interval, a quarter of it, and the ping's limit", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  await using wire = await startFreezableProxy(Number(server.address.split(":")[1]));
  await using running = await startTestProxy(`127.0.0.1:${wire.port}`, socket.path, {
    upstream: { keepalive: { intervalMs: 1600, timeoutMs: 400 } },
  });
  await using client = openRawAds(socket.path, "delta");
  client.send(ask("delta", CDS, envoy));
  (await server.stream(0)).send(push("delta", CDS, ["a"]));
  await client.received(1);
  wire.freeze();
  // An interval that only begins with the next check would take up to 3600 ms.
  const late = waitInTurns(1600 + 400 + 400 + 800).then(() => "late");
  expect(await Promise.race([client.status, late])).toMatchObject({
    code: grpc.status.UNAVAILABLE,
    details: "keepalive ping failed to receive ACK within timeout",
  });
  expect(running.registry.render()).toContain('istiod_connection_terminations{type="error"} 1');
});

test.each([true, false])("a peer that accepts and stays mute (TLS: %s) costs the connect limit", async (tls) => {
  using socket = socketFolder();
  const mute = createServer((connection) => void connection.on("error", () => undefined).resume()).listen(
    0,
    "127.0.0.1",
  );
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo;
  await using running = await startTestProxy(`127.0.0.1:${port}`, socket.path, {
    upstream: { connectTimeoutMs: 200, ...(tls && { tls: () => ({ serverName: "istiod" }) }) },
  });
  await using client = openRawAds(socket.path, "sotw");
  client.send(ask("sotw", CDS, envoy));
  expect(await client.status).toMatchObject({
    code: grpc.status.UNAVAILABLE,
    details: `cannot connect to 127.0.0.1:${port}: no answer within 200 ms`,
  });
  expect(running.registry.render()).toContain("istio_agent_istiod_connection_failures 1");
  expect(running.registry.render()).not.toContain("envoy_connection_terminations");
  mute.close();
});

test("a client that leaves while the connection is made, or has no token, is not a failed connection", async () => {
  using socket = socketFolder();
  const mute = createServer((connection) => void connection.on("error", () => undefined).resume()).listen(
    0,
    "127.0.0.1",
  );
  await once(mute, "listening");
  let token = () => "token";
  await using running = await startTestProxy(`127.0.0.1:${(mute.address() as AddressInfo).port}`, socket.path, {
    upstream: { token: () => token() },
  });
  const leaving = openRawAds(socket.path, "sotw");
  leaving.send(ask("sotw", CDS, envoy));
  await once(mute, "connection");
  await leaving[Symbol.asyncDispose]();
  token = () => {
    throw new Error("metadata server is down");
  };
  await using refused = openRawAds(socket.path, "sotw");
  refused.send(ask("sotw", CDS, envoy));
  expect(await refused.status).toMatchObject({ code: grpc.status.UNAUTHENTICATED });
  const ends = 'istiod_connection_terminations{type="error"} 2';
  await until(async () => (running.registry.render().includes(ends) ? undefined : "still there"));
  expect(running.registry.render()).not.toMatch(/^istio_agent_istiod_connection_failures \d/m);
  mute.close();
});

test("the token is asked for each stream; one that cannot be had is reported in the words of the reference", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  const tokens = ["first", "", new Error("metadata server is down"), "second"];
  await using _running = await startTestProxy(server.address, socket.path, {
    upstream: {
      token: () => {
        const next = tokens.shift();
        if (next instanceof Error) throw next;
        return next;
      },
    },
  });
  const seen: unknown[] = [];
  for (const index of [0, 1]) {
    await using client = openRawAds(socket.path, "sotw");
    client.send(ask("sotw", CDS, envoy));
    const stream = await server.stream(index);
    seen.push(stream.metadata.get("authorization"));
    stream.fail(grpc.status.UNAUTHENTICATED, "authentication failure");
    expect(await client.status).toMatchObject({ code: grpc.status.UNAUTHENTICATED, details: "authentication failure" });
  }
  await using refused = openRawAds(socket.path, "sotw");
  refused.send(ask("sotw", CDS, envoy));
  expect(await refused.status).toMatchObject({
    code: grpc.status.UNAUTHENTICATED,
    details: "transport: per-RPC creds failed due to error: fetch platform credential: metadata server is down",
  });
  await using last = openRawAds(socket.path, "sotw");
  last.send(ask("sotw", CDS, envoy));
  seen.push((await server.stream(2)).metadata.get("authorization"));
  expect(seen).toEqual([["Bearer first"], [], ["Bearer second"]]);
});

describe("a connection made ahead", () => {
  test("is used by the first stream alone", async () => {
    using socket = socketFolder();
    await using server = await startRawServer((stream) => stream.respond(answered));
    await using running = await startTestProxy(server.target, socket.path);
    running.proxy.prepare();
    running.proxy.prepare();
    await until(async () => (server.sessions.size === 1 ? undefined : `${server.sessions.size} connections`));
    for (const index of [1, 2]) {
      const client = openRawAds(socket.path, "delta");
      client.send(ask("delta", CDS, envoy));
      await until(async () => (server.requests.length === index ? undefined : "no request"));
      expect(server.sessions.size).toBe(1);
      await client[Symbol.asyncDispose]();
      await until(async () => (server.sessions.size === 0 ? undefined : "the connection stays"));
    }
  });

  test("that fails, or that no one takes, leaves nothing behind", async () => {
    using socket = socketFolder();
    await using server = await startRawServer((stream) => stream.respond(answered));
    await using refused = await startTestProxy("127.0.0.1:1", socket.path);
    refused.proxy.prepare();
    await refused.proxy.stop();
    const unused = await startTestProxy(server.target, socket.path);
    unused.proxy.prepare();
    await until(async () => (server.sessions.size === 1 ? undefined : "no connection"));
    await unused.proxy.stop();
    await until(async () => (server.sessions.size === 0 ? undefined : "the connection stays"));
  });
});

test.each(["v1", "v1alpha"])("reflection %s on the socket names the services", async (version) => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  await using _running = await startTestProxy(server.address, socket.path);
  const services = await listServices(`unix:${socket.path}`, version);
  expect(services).toContain("envoy.service.discovery.v3.AggregatedDiscoveryService");
  expect(services).toContain("grpc.reflection.v1.ServerReflection");
});

test("services that are not there are reported by name", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  await using _running = await startTestProxy(server.address, socket.path);
  const client = new grpc.Client(`unix:${socket.path}`, grpc.credentials.createInsecure());
  const raw = (bytes: Buffer) => bytes;
  const status = (path: string) =>
    new Promise((resolve) => client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), (failure) => resolve(failure)));
  expect(await status("/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats")).toMatchObject({
    code: grpc.status.UNIMPLEMENTED,
    details: "unknown service envoy.service.load_stats.v3.LoadReportingService",
  });
  client.close();
});

describe("the socket", () => {
  const open = async (socketPath: string, index: number, server: Awaited<ReturnType<typeof startControlPlane>>) => {
    await using client = openRawAds(socketPath, "delta");
    client.send(ask("delta", LDS, envoy));
    await (await server.stream(index)).received(1);
  };

  test("a stale file in its place is replaced", async () => {
    using socket = socketFolder();
    mkdirSync(dirname(socket.path), { recursive: true });
    writeFileSync(socket.path, "left behind");
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path);
    await open(socket.path, 0, server);
  });

  test("what cannot be removed fails the start in the reference's words and leaves nothing", async () => {
    using socket = socketFolder();
    mkdirSync(join(socket.path, "full"), { recursive: true });
    await expect(startTestProxy("127.0.0.1:1", socket.path)).rejects.toThrow(
      `failed to remove unix://${socket.path}: `,
    );
  });

  test("deleted with its folder while running, it is made again; connections that exist live on", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    const warnings: string[] = [];
    const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    await using _running = await startTestProxy(server.address, socket.path, { socketCheckMs: 20, log });
    await using client = openRawAds(socket.path, "delta");
    client.send(ask("delta", LDS, envoy));
    const stream = await server.stream(0);
    rmSync(dirname(socket.path), { recursive: true });
    await until(async () => (existsSync(socket.path) ? undefined : "no socket"));
    await open(socket.path, 1, server);
    stream.send(push("delta", LDS, ["still"]));
    await client.received(1);
    unlinkSync(socket.path);
    await until(async () => (existsSync(socket.path) ? undefined : "no socket"));
    await open(socket.path, 2, server);
    expect(warnings).toEqual(Array(2).fill(`the socket ${socket.path} is gone; making it again`));
  });
});

describe("as another user", () => {
  beforeEach(needs("root"));

  test("a folder that cannot be written to fails the start", async () => {
    using socket = socketFolder();
    mkdirSync(dirname(socket.path), { recursive: true });
    chmodSync(dirname(socket.path), 0o555);
    chmodSync(dirname(dirname(socket.path)), 0o755);
    process.seteuid?.(65_534);
    try {
      await expect(startTestProxy("127.0.0.1:1", socket.path)).rejects.toThrow(/cannot listen on .*EACCES/);
    } finally {
      process.seteuid?.(0);
    }
    expect(existsSync(socket.path)).toBe(false);
    expect(readFileSync("/proc/self/status", "utf8")).toMatch(/^Uid:\t0\t0/m);
  });
});
