import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import type { ClientHttp2Session } from "node:http2";
import { connect as connectSocket, createServer, Server, type Socket } from "node:net";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { GrpcError } from "../../src/grpc/status.ts";
import { socketFolder } from "../support/grpc/contract.ts";
import { ECHO, ECHO_BIDI, portOf, startEchoServer } from "../support/grpc/echo-server.ts";
import { connectRaw, grpcHeaders, requestRaw } from "../support/grpc/raw-client.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";

const folder = socketFolder();
afterAll(() => folder.remove());

test("connections that cannot be accepted are logged, and the next ones are served", async () => {
  const listening = vi.spyOn(Server.prototype, "listen");
  const log = recordLog();
  await using server = await startEchoServer({ log });
  const listener = listening.mock.contexts.at(-1) as Server;
  listening.mockRestore();
  // As node does when the process has no descriptor left.
  for (const code of ["ENFILE", "EMFILE"]) listener.emit("error", Object.assign(new Error(`accept ${code}`), { code }));
  expect(log.lines.map(({ fields }) => fields?.error)).toEqual(["accept ENFILE", "accept EMFILE"]);
  await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
  expect((await channel.unary(ECHO, Buffer.from("x"))).toString()).toBe("x");
  listener.emit("error", Object.assign(new Error("accept EBADF"), { code: "EBADF" }));
  await expect(server.ended).rejects.toThrow("accept EBADF");
});

test("of more idle connections than allowed the oldest is closed; one with a call stays", async () => {
  await using server = await startEchoServer({ maxIdleConnections: 2 });
  const port = portOf(server);
  await using channel = createGrpcChannel(`127.0.0.1:${port}`);
  const call = await channel.bidi(ECHO_BIDI);
  await call.write(Buffer.from("x"));
  await call.responses[Symbol.asyncIterator]().next();
  const idle = [connectRaw(port), connectRaw(port)];
  for (const session of idle) await once(session, "remoteSettings");
  const [oldest, second] = idle;
  const closed = once(oldest as ClientHttp2Session, "close");
  const third = connectRaw(port);
  await closed;
  await call.write(Buffer.from("y"));
  expect((await requestRaw(second as ClientHttp2Session, grpcHeaders(ECHO.path), Buffer.alloc(5))).status).toBe("0");
  for (const session of [...idle, third]) session.destroy();
});

test.each([0, -1, 2 ** 40])("%i streams at most: there is no limit", async (maxConcurrentStreams) => {
  await using server = await startEchoServer({ maxConcurrentStreams });
  await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
  expect((await channel.unary(ECHO, Buffer.from("x"))).toString()).toBe("x");
});

describe("unix socket", () => {
  const listenAt = (name: string) => ({ path: `${folder.path}/${name}` });

  test("the file is there for everybody while the server runs, and gone after it", async () => {
    const listen = listenAt("mode");
    const server = await startEchoServer({ listen });
    expect(lstatSync(listen.path).mode & 0o777).toBe(0o666);
    expect(server.address).toEqual(listen);
    await server.stop();
    expect(existsSync(listen.path)).toBe(false);
  });

  test("the mode can be set", async () => {
    const listen = { ...listenAt("mode-600"), mode: 0o600 };
    await using _server = await startEchoServer({ listen });
    expect(lstatSync(listen.path).mode & 0o777).toBe(0o600);
  });

  test("a stale socket file, left by a crash, is replaced", async () => {
    const listen = listenAt("stale");
    await leaveStaleSocket(listen.path);
    expect(lstatSync(listen.path).isSocket()).toBe(true);
    await using _server = await startEchoServer({ listen });
    await using channel = createGrpcChannel(`unix:${listen.path}`);
    await channel.connect();
  });

  test("a socket that someone serves is left alone", async () => {
    const listen = listenAt("live");
    await using _first = await startEchoServer({ listen });
    await expect(startEchoServer({ listen })).rejects.toMatchObject({ code: "address-in-use" });
    await using channel = createGrpcChannel(`unix:${listen.path}`);
    expect((await channel.unary(ECHO, Buffer.from("still here"))).toString()).toBe("still here");
  });

  test("a file that is not a socket is left alone", async () => {
    const listen = listenAt("regular");
    writeFileSync(listen.path, "precious");
    await expect(startEchoServer({ listen })).rejects.toMatchObject({ code: "not-a-socket" });
    expect(existsSync(listen.path)).toBe(true);
  });

  test("with replace: always, files and served sockets give way; a directory does not", async () => {
    const regular = { ...listenAt("regular-always"), replace: "always" as const };
    writeFileSync(regular.path, "stale");
    await using _overFile = await startEchoServer({ listen: regular });
    await using _overServer = await startEchoServer({ listen: regular });
    const directory = { ...listenAt("directory"), replace: "always" as const };
    mkdirSync(directory.path);
    await expect(startEchoServer({ listen: directory })).rejects.toMatchObject({ code: "listen-failed" });
  });

  test.each([
    { bytes: 107, code: undefined },
    { bytes: 108, code: "path-too-long" },
  ])("a path of $bytes bytes: $code", async ({ bytes, code }) => {
    const path = `${folder.path}/`.padEnd(bytes, "x");
    const starting = startEchoServer({ listen: { path } });
    if (code === undefined) await (await starting).stop();
    else
      await expect(starting).rejects.toMatchObject({ code, message: expect.stringContaining("1 to 107 are allowed") });
  });

  test("a folder that does not exist fails the start", async () => {
    await expect(startEchoServer({ listen: listenAt("none/socket") })).rejects.toMatchObject({ code: "listen-failed" });
  });
});

/** A socket file as a killed process leaves it: bound by a child that never unlinks. */
async function leaveStaleSocket(path: string): Promise<void> {
  const { execFileSync } = await import("node:child_process");
  const script = "require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))";
  expect(() => execFileSync(process.execPath, ["-e", script, path], { stdio: "ignore" })).toThrow();
}

describe("start and stop", () => {
  test("a taken port fails the start with the address", async () => {
    await using first = await startEchoServer();
    const listen = { host: "127.0.0.1", port: portOf(first) };
    await expect(startEchoServer({ listen })).rejects.toMatchObject({
      code: "address-in-use",
      message: expect.stringContaining(`127.0.0.1:${listen.port}`),
    });
  });

  test("stop resets running calls, frees the port and may be called twice", async () => {
    const server = await startEchoServer();
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const call = await channel.bidi(ECHO_BIDI);
    await call.write(Buffer.from("x"));
    await call.responses.next();
    await Promise.all([server.stop(), server.stop()]);
    await expect(call.responses.next()).rejects.toBeInstanceOf(GrpcError);
    await using again = await startEchoServer({ listen: { host: "127.0.0.1", port: portOf(server) } });
    expect(portOf(again)).toBe(portOf(server));
  });

  test("stop does not wait for a client that connected and stays mute", async () => {
    const server = await startEchoServer();
    const mute = connectSocket(portOf(server), "127.0.0.1").resume();
    await new Promise((resolve) => mute.once("connect", resolve));
    await server.stop();
    await new Promise((resolve) => (mute.closed ? resolve(undefined) : mute.once("close", resolve)));
  });

  test("garbage instead of HTTP/2 closes that connection only", async () => {
    await using server = await startEchoServer();
    const socket = connectSocket(portOf(server), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    await channel.unary(ECHO, Buffer.from("x"));
  });
});

describe("drain", () => {
  test("running calls finish, new ones are refused, then it is over", async () => {
    await using server = await startEchoServer();
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const call = await channel.bidi(ECHO_BIDI);
    await call.write(Buffer.from("before"));
    await call.responses.next();
    const drained = server.drain(10_000);
    await expect
      .poll(() =>
        channel.unary(ECHO, Buffer.alloc(1)).then(
          () => "served",
          (error) => error.code,
        ),
      )
      .toBe("UNAVAILABLE");
    await call.write(Buffer.from("after"));
    expect((await call.responses.next()).value?.toString()).toBe("after");
    call.end();
    expect((await call.responses.next()).done).toBe(true);
    await drained;
  });

  test("calls that do not finish are reset at the deadline", async () => {
    await using server = await startEchoServer();
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const call = await channel.bidi(ECHO_BIDI);
    await call.write(Buffer.from("x"));
    await call.responses.next();
    await server.drain(50);
    await expect(call.responses.next()).rejects.toBeInstanceOf(GrpcError);
  });

  test("a connection that its client is closing already does not hold it up", async () => {
    await using server = await startEchoServer();
    const session = connectRaw(portOf(server));
    const call = session.request(grpcHeaders(ECHO_BIDI.path));
    call.on("error", () => undefined);
    call.write(Buffer.from([0, 0, 0, 0, 1, 120]));
    await new Promise((resolve) => call.once("data", resolve));
    session.close(); // tells the server, and waits for the call
    await new Promise((resolve) => session.ping(resolve));
    const drained = server.drain(60_000);
    call.end();
    await drained;
  });

  const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  test.each([
    { who: "says nothing", says: "" },
    { who: "stops in the middle of its greeting", says: PREFACE.slice(0, 10) },
    { who: "has greeted and tells no settings", says: PREFACE },
    { who: "has sent its settings and accepts no others", says: `${PREFACE}\0\0\0\x04\0\0\0\0\0` },
  ])("a client that $who and never closes does not hold it up", async ({ says }) => {
    await using server = await startEchoServer();
    const client = connectSocket({ port: portOf(server), host: "127.0.0.1", allowHalfOpen: true });
    client.on("error", () => undefined);
    client.write(says, "latin1");
    await new Promise((resolve) => client.once("data", resolve)); // the server's own settings
    await server.drain(60_000);
    client.destroy();
  });

  test("without connections it is over at once", async () => {
    await using server = await startEchoServer();
    await server.drain(10_000);
  });
});

describe("limits of a connection", () => {
  test("calls beyond the number of concurrent streams wait or are refused, none beyond it runs", async () => {
    let running = 0;
    let most = 0;
    const slow = rawMethod("/life.Test/Slow", "unary");
    const release: (() => void)[] = [];
    await using server = await startEchoServer({
      maxConcurrentStreams: 3,
      methods: [
        implement(slow, async (request) => {
          most = Math.max(most, ++running);
          await new Promise<void>((resolve) => void release.push(resolve));
          running--;
          return request;
        }),
      ],
    });
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    const calls = Array.from({ length: 8 }, () => channel.unary(slow, Buffer.alloc(1)));
    let finished = 0;
    for (const call of calls)
      call.then(
        () => finished++,
        () => finished++,
      );
    await expect
      .poll(() => {
        for (const each of release.splice(0)) each();
        return finished;
      })
      .toBe(8);
    expect(most).toBeLessThanOrEqual(3);
  });

  test("a client that pings too often is sent away with ENHANCE_YOUR_CALM", async () => {
    await using server = await startEchoServer({ pingPolicy: { minIntervalMs: 15_000, withoutCalls: false } });
    const session = connectRaw(portOf(server));
    const goaway = new Promise<[number, string]>((resolve) =>
      session.once("goaway", (code, _last, data) => resolve([code, data?.toString() ?? ""])),
    );
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    for (let count = 0; count < 4; count++) session.ping(() => undefined);
    expect(await goaway).toEqual([11, "too_many_pings"]);
    session.destroy();
  });

  test("a client that pings while it gets answers is welcome", async () => {
    await using server = await startEchoServer({ pingPolicy: { minIntervalMs: 15_000, withoutCalls: false } });
    const session = connectRaw(portOf(server));
    for (let count = 0; count < 6; count++) {
      await new Promise((resolve) => void session.ping(resolve));
      expect((await requestRaw(session, grpcHeaders(ECHO.path), Buffer.alloc(5))).status).toBe("0");
    }
    session.destroy();
  });

  test("a client that vanished without closing is noticed by keepalive and its calls end", async () => {
    const aborted: GrpcError[] = [];
    let started = false;
    await using server = await startEchoServer({
      keepalive: { intervalMs: 40, timeoutMs: 1_000 },
      methods: [
        implement(ECHO_BIDI, (_requests, call) => {
          started = true;
          return new Promise((_resolve, reject) =>
            call.signal.addEventListener("abort", () => {
              aborted.push(call.signal.reason);
              reject(call.signal.reason);
            }),
          );
        }),
      ],
    });
    await using proxy = await startFreezableProxy(portOf(server));
    await using channel = createGrpcChannel(`127.0.0.1:${proxy.port}`);
    await channel.bidi(ECHO_BIDI);
    await expect.poll(() => started).toBe(true);
    proxy.freeze();
    await expect.poll(() => aborted.map(({ code }) => code)).toEqual(["CANCELLED"]);
  });

  test.each([2 ** 53, 0, -1])("an interval of %i means no busy clock", async (ms) => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    await using server = await startEchoServer({ keepalive: { intervalMs: ms, timeoutMs: ms } });
    await using channel = createGrpcChannel(`127.0.0.1:${portOf(server)}`);
    await channel.unary(ECHO, Buffer.from("x"));
    const waits = timers.mock.calls.map(([, after = 0]) => after);
    expect(waits.filter((after) => after < 1 || after >= 2 ** 31)).toEqual([]);
    timers.mockRestore();
  });

  test("a living but quiet client survives many keepalive rounds", async () => {
    await using server = await startEchoServer({ keepalive: { intervalMs: 10, timeoutMs: 20_000 } });
    await using proxy = await startFreezableProxy(portOf(server));
    await using channel = createGrpcChannel(`127.0.0.1:${proxy.port}`);
    const call = await channel.bidi(ECHO_BIDI);
    await expect.poll(() => proxy.bytesToClient).toBeGreaterThan(17 * 20); // twenty pings
    await call.write(Buffer.from("alive"));
    expect((await call.responses.next()).value?.toString()).toBe("alive");
  });
});

test("a port that accepts nothing any more is distinguished from a mute one", async () => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => void mute.listen(0, "127.0.0.1", resolve));
  const { port } = mute.address() as { port: number };
  await using channel = createGrpcChannel(`127.0.0.1:${port}`, { connectTimeoutMs: 80 });
  await expect(channel.connect()).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `cannot connect to 127.0.0.1:${port}: no answer within 80 ms`,
  });
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
  await expect(channel.connect()).rejects.toMatchObject({ code: "UNAVAILABLE", cause: { code: "ECONNREFUSED" } });
});
