import { readdirSync } from "node:fs";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { createGrpcAcceptor } from "../../src/grpc/server/create-grpc-acceptor.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import type { GrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { startHttpServer } from "../../src/net/http-server/start-http-server.ts";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { socketFolder } from "../support/grpc/contract.ts";
import { ECHO, ECHO_BIDI, portOf, startEchoServer } from "../support/grpc/echo-server.ts";
import {
  END_HEADERS,
  FRAME,
  grpcHeaderBlock,
  openRaw,
  PREFACE,
  type RawTarget,
  rawFrame,
  WHOLE_HEADERS,
} from "../support/grpc/raw-frames.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("openssl"));

const folder = socketFolder();
afterAll(() => folder.remove());

const ENHANCE_YOUR_CALM = 11;
const START = Buffer.concat([PREFACE, rawFrame(FRAME.settings)]);
const BAD_HPACK = rawFrame(FRAME.headers, { flags: WHOLE_HEADERS, stream: 1, payload: Buffer.alloc(6, 0xff) });
const MALFORMED = [
  { name: "a bad HPACK block", bytes: BAD_HPACK },
  { name: "a SETTINGS frame of a wrong size", bytes: rawFrame(FRAME.settings, { payload: Buffer.alloc(5) }) },
  { name: "DATA of stream 0", bytes: rawFrame(FRAME.data, { payload: Buffer.alloc(5) }) },
  { name: "a frame over the size limit", bytes: rawFrame(FRAME.data, { stream: 1, payload: Buffer.alloc(20_000) }) },
  { name: "CONTINUATION without HEADERS", bytes: rawFrame(FRAME.continuation, { flags: END_HEADERS, stream: 1 }) },
];

type Listening = { readonly target: RawTarget } & AsyncDisposable;

async function startListening(over: "unix" | "tcp" | "tls" | "shared"): Promise<Listening> {
  if (over === "shared") {
    const methods = [implement(ECHO, (request) => request)];
    const acceptor = createGrpcAcceptor({ methods, log: silentLogger });
    const server = await startHttpServer({
      listen: [{ host: "127.0.0.1", port: 0 }],
      handler: () => ({ status: 404 }),
      onHttp2: acceptor.accept,
      log: silentLogger,
    });
    return { target: { port: server.port }, [Symbol.asyncDispose]: () => server.stop() };
  }
  const path = `${folder.path}/hostile`;
  const server: GrpcServer = await startEchoServer({
    ...(over === "unix" && { listen: { path } }),
    ...(over === "tls" && { tls: () => opensslCertificates().server }),
  });
  const target = over === "unix" ? { path } : { port: portOf(server), tls: over === "tls" };
  return { target, [Symbol.asyncDispose]: () => server.stop() };
}

const openDescriptors = () => readdirSync("/proc/self/fd").length;

describe.each(["unix", "tcp", "tls", "shared"] as const)("malformed HTTP/2 over %s", (over) => {
  test("the server says GOAWAY and closes the connection", async () => {
    await using server = await startListening(over);
    const opened = MALFORMED.map(({ name, bytes }) => ({
      name,
      ...openRaw(server.target, Buffer.concat([START, bytes])),
    }));
    await Promise.all(opened.map(({ closed }) => closed));
    for (const { name, goaway } of opened) expect(goaway()?.code, name).toBeGreaterThan(0);
  });

  test("clients that leave at once leave no descriptor behind", async () => {
    await using server = await startListening(over);
    const before = openDescriptors();
    const connections = Array.from({ length: 200 }, () => openRaw(server.target, Buffer.concat([START, BAD_HPACK])));
    await until("every client has its GOAWAY", () => connections.every((each) => each.goaway() !== undefined));
    for (const connection of connections) connection[Symbol.dispose]();
    await until("no descriptor more than before", () => openDescriptors() <= before || `${openDescriptors()}`);
  });
});

test("a connection that is silent, or waits for its client to read, is not taken for a malformed one", async () => {
  await using server = await startEchoServer({ windowBytes: 64 * 1024 });
  using silent = openRaw({ port: portOf(server) }, START);
  const window = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]);
  const wide = rawFrame(FRAME.settings, { payload: window });
  const headers = rawFrame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: grpcHeaderBlock(ECHO_BIDI.path) });
  using behind = openRaw({ port: portOf(server) }, Buffer.concat([PREFACE, wide, headers]));
  behind.socket.pause();
  // Long enough for two checks: a malformed connection that comes now is closed by the second.
  using malformed = openRaw({ port: portOf(server) }, Buffer.concat([START, BAD_HPACK]));
  await malformed.closed;
  using again = openRaw({ port: portOf(server) }, Buffer.concat([START, BAD_HPACK]));
  await again.closed;
  expect([silent.socket.destroyed, behind.socket.destroyed]).toEqual([false, false]);
  behind.socket.resume();
  await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
  expect((await channel.unary(ECHO, Buffer.from("x"))).toString()).toBe("x");
});

test("a client that takes nothing of what waits for it and then sends nonsense is closed; one that reads again is not", async () => {
  await using server = await startEchoServer({ windowBytes: 64 * 1024, stuckWriteMs: 1500, maxSendBytes: 2 ** 30 });
  const window = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]);
  const grow = rawFrame(FRAME.windowUpdate, { payload: Buffer.from([0x7f, 0, 0, 0]) });
  const wide = Buffer.concat([PREFACE, rawFrame(FRAME.settings, { payload: window }), grow]);
  const headers = rawFrame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: grpcHeaderBlock(ECHO_BIDI.path) });
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0x3f, 0xf0]), Buffer.alloc(0x3ff0)]);
  const data = rawFrame(FRAME.data, { stream: 1, payload: message });
  const open = () => openRaw({ port: portOf(server) }, Buffer.concat([wide, headers]));
  /** Echoes until the way back is full: the server then stops reading too. */
  const fill = async ({ socket }: ReturnType<typeof openRaw>) => {
    socket.pause();
    while (socket.writableLength < 1024 * 1024) {
      socket.write(data);
      await new Promise((next) => setImmediate(next));
    }
  };
  using again = open();
  await fill(again);
  again.socket.resume();
  using stuck = open();
  await fill(stuck);
  stuck.socket.write(BAD_HPACK);
  await until("the server has closed it", () => {
    // A socket that is paused learns of a reset by writing.
    stuck.socket.write(Buffer.alloc(1));
    return stuck.socket.destroyed;
  });
  expect(again.socket.destroyed).toBe(false);
});

test("of too many TLS handshakes under way the oldest is closed; who has finished one is not touched", async () => {
  await using server = await startEchoServer({ tls: () => opensslCertificates().server, maxHandshakes: 5 });
  const port = portOf(server);
  await using channel = createGrpcChannel(`localhost:${port}`, { tls: () => ({ ca: opensslCertificates().ca }) });
  expect((await channel.unary(ECHO, Buffer.from("x"))).toString()).toBe("x");
  const silent: ReturnType<typeof openRaw>[] = [];
  try {
    for (let count = 0; count < 12; count++) {
      const connection = openRaw({ port }, Buffer.from([0x16]));
      silent.push(connection);
      await new Promise((connected) => connection.socket.once("connect", connected));
    }
    await until(
      "only as many as allowed are open",
      () => silent.filter(({ socket }) => !socket.destroyed).length === 5,
    );
    expect(silent.slice(0, 7).every(({ socket }) => socket.destroyed)).toBe(true);
    expect((await channel.unary(ECHO, Buffer.from("y"))).toString()).toBe("y");
    await using next = createGrpcChannel(`localhost:${port}`, { tls: () => ({ ca: opensslCertificates().ca }) });
    expect((await next.unary(ECHO, Buffer.from("z"))).toString()).toBe("z");
  } finally {
    for (const connection of silent) connection[Symbol.dispose]();
  }
});

describe("floods", () => {
  const many = (count: number, frame: (at: number) => Buffer) =>
    Buffer.concat([START, ...Array.from({ length: count }, (_, at) => frame(at))]);
  const reset = (at: number) => {
    const stream = 2 * at + 1;
    const payload = Buffer.from([0, 0, 0, 8]);
    const headers = { flags: END_HEADERS, stream, payload: grpcHeaderBlock(ECHO_BIDI.path) };
    return Buffer.concat([rawFrame(FRAME.headers, headers), rawFrame(FRAME.reset, { stream, payload })]);
  };

  test.each([
    {
      name: "PING",
      bytes: many(600, () => rawFrame(FRAME.ping, { payload: Buffer.alloc(8) })),
      text: "too_many_control_frames",
    },
    { name: "SETTINGS", bytes: many(600, () => rawFrame(FRAME.settings)), text: "too_many_control_frames" },
    { name: "streams reset at once", bytes: many(700, reset), text: "too_many_resets" },
  ])("$name: the connection ends with GOAWAY (ENHANCE_YOUR_CALM)", async ({ bytes, text }) => {
    await using server = await startEchoServer();
    using connection = openRaw({ port: portOf(server) }, bytes);
    await connection.closed;
    expect(connection.goaway()).toEqual({ code: ENHANCE_YOUR_CALM, text });
  });

  test("streams that were answered count as well when they are reset", async () => {
    await using server = await startEchoServer({ methods: [implement(ECHO_BIDI, async () => undefined)] });
    using connection = openRaw({ port: portOf(server) }, many(700, reset));
    await connection.closed;
    expect(connection.goaway()).toEqual({ code: ENHANCE_YOUR_CALM, text: "too_many_resets" });
  });

  test("the limits are options", async () => {
    await using server = await startEchoServer({ floodLimits: { controlFrames: { perSecond: 1, burst: 10 } } });
    using connection = openRaw(
      { port: portOf(server) },
      many(20, () => rawFrame(FRAME.ping, { payload: Buffer.alloc(8) })),
    );
    await connection.closed;
    expect(connection.goaway()).toEqual({ code: ENHANCE_YOUR_CALM, text: "too_many_control_frames" });
  });

  test("as many control frames as a client may need at once are answered", async () => {
    await using server = await startEchoServer();
    const pings = many(400, () => rawFrame(FRAME.ping, { payload: Buffer.alloc(8) }));
    using connection = openRaw({ port: portOf(server) }, pings);
    await until("every ping is acknowledged", () => connection.socket.bytesRead >= 400 * 17);
    expect(connection.goaway()).toBeUndefined();
  });
});
