import type { ServerHttp2Session } from "node:http2";
import { connect as connectSocket, createServer as createTcpServer } from "node:net";
import { describe, expect, test } from "vitest";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { GrpcError } from "../../src/grpc/status.ts";
import { ECHO, ECHO_BIDI, portOf, startEchoServer } from "../support/grpc/echo-server.ts";
import { answerWith, GRPC_ANSWER, startRawServer } from "../support/grpc/raw-server.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";

const UPLOAD = rawMethod("/chan.Test/Upload", "client-stream");
const EMPTY_FRAME = Buffer.alloc(5);

describe("connecting", () => {
  test("nothing is connected before the first call, and calls share the connection", async () => {
    await using server = await startRawServer((stream) => answerWith(stream, EMPTY_FRAME, { "grpc-status": "0" }));
    await using channel = createGrpcChannel(server.target);
    expect(server.sessions.size).toBe(0);
    await Promise.all([channel.unary(ECHO, Buffer.alloc(0)), channel.unary(ECHO, Buffer.alloc(0))]);
    await channel.unary(ECHO, Buffer.alloc(0));
    expect(server.sessions.size).toBe(1);
  });

  test("a refused connection is UNAVAILABLE with the address and the cause, and the next call tries again", async () => {
    const server = await startEchoServer();
    const port = portOf(server);
    await server.stop();
    await using channel = createGrpcChannel(`127.0.0.1:${port}`);
    await expect(channel.unary(ECHO, Buffer.alloc(0))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `cannot connect to 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
      cause: { code: "ECONNREFUSED" },
    });
    await using _again = await startEchoServer({ listen: { host: "127.0.0.1", port } });
    expect((await channel.unary(ECHO, Buffer.from("back"))).toString()).toBe("back");
  });

  test("a unix socket that is not there is named", async () => {
    await using channel = createGrpcChannel("unix:/tmp/no/such/socket");
    await expect(channel.connect()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("unix:/tmp/no/such/socket"),
      cause: { code: "ENOENT" },
    });
  });

  test("a server that went away and came back serves the next call", async () => {
    const first = await startEchoServer();
    const listen = { host: "127.0.0.1", port: portOf(first) };
    await using channel = createGrpcChannel(`127.0.0.1:${listen.port}`);
    await channel.unary(ECHO, Buffer.from("one"));
    await first.stop();
    await using _second = await startEchoServer({ listen });
    const answer = () => channel.unary(ECHO, Buffer.from("two")).then(String, (failure: GrpcError) => failure.code);
    await expect.poll(answer).toBe("two");
  });

  test("something that closes at once instead of speaking HTTP/2 is UNAVAILABLE", async () => {
    const rude = createTcpServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => void rude.listen(0, "127.0.0.1", resolve));
    await using channel = createGrpcChannel(`127.0.0.1:${(rude.address() as { port: number }).port}`);
    await expect(channel.connect()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await new Promise((resolve) => rude.close(resolve));
  });

  test("a hook may open the byte stream its own way", async () => {
    await using server = await startEchoServer();
    let asked = 0;
    await using channel = createGrpcChannel("istiod.example:15012", {
      connect: async () => {
        asked += 1;
        return connectSocket(portOf(server), "127.0.0.1");
      },
    });
    expect((await channel.unary(ECHO, Buffer.from("tunnel"))).toString()).toBe("tunnel");
    expect(asked).toBe(1);
  });

  test("what the hook throws is the cause", async () => {
    const refusal = new Error("proxy says 407");
    await using channel = createGrpcChannel("istiod.example:15012", { connect: () => Promise.reject(refusal) });
    await expect(channel.connect()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot connect to istiod.example:15012: proxy says 407",
      cause: refusal,
    });
  });
});

describe("GOAWAY", () => {
  test("a running stream finishes on the old connection, new calls go to a new one", async () => {
    await using server = await startRawServer((stream, headers) => {
      if (headers[":path"] === ECHO.path) return answerWith(stream, EMPTY_FRAME, { "grpc-status": "0" });
      stream.respond(GRPC_ANSWER, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.on("data", (chunk) => stream.write(chunk));
      stream.on("end", () => stream.end());
    });
    await using channel = createGrpcChannel(server.target);
    const call = await channel.bidi(ECHO_BIDI);
    await call.write(Buffer.from("one"));
    await call.responses.next();
    for (const session of server.sessions) session.close();
    await expect.poll(() => channel.unary(ECHO, Buffer.alloc(0)).then(() => server.sessions.size)).toBe(2);
    await call.write(Buffer.from("two"));
    expect((await call.responses.next()).value?.toString()).toBe("two");
    call.end();
    expect((await call.responses.next()).done).toBe(true);
    await expect.poll(() => server.sessions.size).toBe(1);
  });

  test("with an error it ends running calls with its name", async () => {
    await using server = await startRawServer((stream) => {
      stream.respond(GRPC_ANSWER);
      stream.session?.goaway(11, 0, Buffer.from("too_many_pings"));
    });
    await using channel = createGrpcChannel(server.target);
    await expect(channel.unary(ECHO, Buffer.alloc(0))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "received GOAWAY with code ENHANCE_YOUR_CALM: too_many_pings",
    });
  });
});

describe("keepalive", () => {
  test("a server that stops answering is noticed while a call is open", async () => {
    await using server = await startEchoServer();
    await using proxy = await startFreezableProxy(portOf(server));
    await using channel = createGrpcChannel(`127.0.0.1:${proxy.port}`, {
      keepalive: { intervalMs: 40, timeoutMs: 1_000 },
    });
    const call = await channel.bidi(ECHO_BIDI);
    await call.write(Buffer.from("x"));
    await call.responses.next();
    proxy.freeze();
    await expect(call.responses.next()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "keepalive ping failed to receive ACK within timeout",
    });
  });

  test("a connection without a call is not pinged, one with a call is", async () => {
    const pings = new Map<ServerHttp2Session, number>();
    await using server = await startRawServer((stream, headers) => {
      if (headers[":path"] === ECHO.path) answerWith(stream, EMPTY_FRAME, { "grpc-status": "0" });
    });
    const keepalive = { intervalMs: 5, timeoutMs: 5_000 };
    await using idle = createGrpcChannel(server.target, { keepalive });
    await using busy = createGrpcChannel(server.target, { keepalive });
    await idle.unary(ECHO, Buffer.alloc(0));
    await busy.bidi(ECHO_BIDI);
    await expect.poll(() => server.sessions.size).toBe(2);
    for (const session of server.sessions) {
      pings.set(session, 0);
      session.on("ping", () => pings.set(session, (pings.get(session) ?? 0) + 1));
    }
    await expect.poll(() => [...pings.values()].some((count) => count >= 10)).toBe(true);
    expect(Math.min(...pings.values())).toBeLessThanOrEqual(1);
  });
});

describe("limits of a call", () => {
  const hanging = () => startRawServer((stream) => void stream.resume());

  test("a signal that is already aborted never reaches the server", async () => {
    await using server = await hanging();
    await using channel = createGrpcChannel(server.target);
    await expect(channel.unary(ECHO, Buffer.alloc(0), { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "CANCELLED",
    });
    expect(server.requests).toHaveLength(0);
  });

  test("many calls may share a signal without a warning of a leak", async () => {
    await using server = await hanging();
    await using channel = createGrpcChannel(server.target);
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    const controller = new AbortController();
    const calls = Array.from({ length: 30 }, () => channel.unary(ECHO, Buffer.alloc(0), { signal: controller.signal }));
    const outcomes = Promise.allSettled(calls);
    await expect.poll(() => server.requests.length).toBe(30);
    controller.abort();
    expect((await outcomes).every(({ status }) => status === "rejected")).toBe(true);
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  test("a GrpcError as the reason of the signal is the call's failure", async () => {
    await using server = await hanging();
    await using channel = createGrpcChannel(server.target);
    const reason = new GrpcError("ABORTED", "replaced by a newer stream");
    const controller = new AbortController();
    const call = channel.unary(ECHO, Buffer.alloc(0), { signal: controller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  test("deadline and signal also end the wait for a connection", async () => {
    await using channel = createGrpcChannel("nowhere.example:1", {
      connect: () => new Promise(() => undefined),
      connectTimeoutMs: 200,
    });
    await expect(channel.unary(ECHO, Buffer.alloc(0), { timeoutMs: 20 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
    await expect(channel.bidi(ECHO_BIDI, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      code: "CANCELLED",
    });
    await expect(channel.connect()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("the server sees a reset with CANCEL and no half-close", async () => {
    const resets: { code: number; ended: boolean }[] = [];
    await using server = await startRawServer((stream) => {
      let ended = false;
      stream.on("end", () => {
        ended = !stream.aborted; // node reports an end after a reset, too
      });
      stream.on("close", () => void resets.push({ code: stream.rstCode ?? -1, ended }));
      stream.resume();
    });
    await using channel = createGrpcChannel(server.target);
    const call = await channel.clientStream(UPLOAD);
    await call.write(Buffer.from("part"));
    await expect.poll(() => server.requests.length).toBe(1);
    call.cancel("enough");
    await expect(call.response()).rejects.toMatchObject({ code: "CANCELLED", message: "enough" });
    await expect.poll(() => resets).toEqual([{ code: 8, ended: false }]);
  });

  test("leaving the iteration early cancels the call", async () => {
    const aborted: unknown[] = [];
    const ticks = rawMethod("/chan.Test/Ticks", "server-stream");
    await using server = await startEchoServer({
      methods: [
        implement(ticks, async (_request, call) => {
          call.signal.addEventListener("abort", () => aborted.push(call.signal.reason));
          for (;;) await call.write(Buffer.alloc(1000));
        }),
      ],
    });
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    for await (const _tick of await channel.serverStream(ticks, Buffer.alloc(0))) break;
    await expect.poll(() => aborted).toMatchObject([{ code: "CANCELLED" }]);
  });

  test("a request above the send limit fails before it is sent", async () => {
    await using server = await startEchoServer();
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`, { maxSendBytes: 10 });
    await expect(channel.unary(ECHO, Buffer.alloc(11))).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    const call = await channel.bidi(ECHO_BIDI);
    await expect(call.write(Buffer.alloc(11))).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
  });

  test("writing to a call that is over rejects with its status", async () => {
    await using server = await startEchoServer({
      methods: [implement(ECHO_BIDI, () => Promise.reject(new GrpcError("OUT_OF_RANGE", "enough")))],
    });
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const call = await channel.bidi(ECHO_BIDI);
    await expect(call.responses.next()).rejects.toMatchObject({ code: "OUT_OF_RANGE" });
    await expect(call.write(Buffer.alloc(1))).rejects.toMatchObject({ code: "OUT_OF_RANGE", message: "enough" });
  });
});

describe("call credentials", () => {
  test("are asked again for every call and joined with the call's own", async () => {
    await using server = await startRawServer((stream) => answerWith(stream, EMPTY_FRAME, { "grpc-status": "0" }));
    let count = 0;
    await using channel = createGrpcChannel(server.target, {
      credentials: async ({ path }) => ({ authorization: `Bearer ${++count}`, "x-path": path }),
    });
    await channel.unary(ECHO, Buffer.alloc(0), { credentials: () => ({ "x-own": "1" }) });
    await channel.unary(ECHO, Buffer.alloc(0));
    expect(server.requests).toMatchObject([
      { authorization: "Bearer 1", "x-path": ECHO.path, "x-own": "1" },
      { authorization: "Bearer 2", "x-path": ECHO.path },
    ]);
  });

  test.each([
    { name: "an error", thrown: new Error("no token file"), code: "UNAUTHENTICATED" },
    { name: "a GrpcError", thrown: new GrpcError("UNAVAILABLE", "token server down"), code: "UNAVAILABLE" },
  ])("that throw $name fail the call with $code before anything is sent", async ({ thrown, code }) => {
    await using server = await startRawServer((stream) => stream.close());
    await using channel = createGrpcChannel(server.target, { credentials: () => Promise.reject(thrown) });
    await expect(channel.unary(ECHO, Buffer.alloc(0))).rejects.toMatchObject({ code });
    expect(server.requests).toHaveLength(0);
  });

  test("metadata that HTTP/2 does not take is an error of the call, not of the process", async () => {
    await using server = await startEchoServer();
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const metadata = { authorization: ["one", "two"] };
    await expect(channel.unary(ECHO, Buffer.alloc(0), { metadata })).rejects.toMatchObject({ code: "INTERNAL" });
    await expect(channel.unary(ECHO, Buffer.alloc(0), { metadata: { "bad name": "x" } })).rejects.toMatchObject({
      code: "invalid-metadata",
    });
    await channel.unary(ECHO, Buffer.alloc(0));
  });
});

describe("stop", () => {
  test("ends calls with CANCELLED, is idempotent, and refuses later calls", async () => {
    await using server = await startEchoServer();
    const channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const call = await channel.bidi(ECHO_BIDI);
    const reading = call.responses.next();
    const stopped = Promise.all([channel.stop(), channel.stop()]);
    await expect(reading).rejects.toMatchObject({ code: "CANCELLED", message: "the channel was stopped" });
    await stopped;
    await expect(channel.unary(ECHO, Buffer.alloc(0))).rejects.toMatchObject({ code: "CANCELLED" });
  });

  test("while connecting ends the attempt", async () => {
    const mute = createTcpServer();
    await new Promise<void>((resolve) => void mute.listen(0, "127.0.0.1", resolve));
    const channel = createGrpcChannel(`127.0.0.1:${(mute.address() as { port: number }).port}`);
    const connecting = channel.connect();
    connecting.catch(() => undefined);
    await channel.stop();
    await expect(connecting).rejects.toMatchObject({ code: "CANCELLED" });
    await new Promise((resolve) => mute.close(resolve));
  });

  test("failures that no one looks at do not bring the process down", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const server = await startEchoServer();
    const channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const calls = await Promise.all([channel.bidi(ECHO_BIDI), channel.bidi(ECHO_BIDI), channel.raw(ECHO_BIDI.path)]);
    void calls[0].responses.next().catch(() => undefined);
    void calls[2].readFrames({ start: () => undefined, bytes: () => undefined, end: () => undefined });
    await server.stop();
    await channel.stop();
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});
