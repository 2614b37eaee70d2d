import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { freePort } from "../../../test/support/net/free-ports.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { createKeptConnection } from "./kept-connection.ts";

const LIMITS = { timeoutMs: 30_000, maxBytes: 1_000_000 };

afterEach(() => void vi.useRealTimers());

async function serve(listener: RequestListener) {
  const sockets = new Set<Socket>();
  const server = await startHttpServer((request, response) => {
    sockets.add(request.socket);
    return listener(request, response);
  });
  const kept = createKeptConnection({ address: () => ({ host: "127.0.0.1", port: server.port }), idleMs: 30_000 });
  return {
    kept,
    sockets,
    async [Symbol.asyncDispose]() {
      kept.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test.each([
  { what: "an announced length", end: (body: string) => ({ "content-length": String(Buffer.byteLength(body)) }) },
  { what: "chunks", end: () => ({}) },
])("many questions go over one connection, answered with $what", async ({ end }) => {
  const long = `ü${"x".repeat(300_000)}`;
  await using served = await serve((request, response) => {
    const body = request.url === "/long" ? long : `${request.method} ${request.url}`;
    response.writeHead(request.url === "/gone" ? 404 : 200, end(body));
    response.write(body.slice(0, 3));
    response.end(body.slice(3));
  });
  const { kept, sockets } = served;
  expect(await kept.ask("GET", "/a?b=%20", LIMITS)).toEqual({ status: 200, body: "GET /a?b=%20" });
  expect(await kept.ask("GET", "/long", LIMITS)).toEqual({ status: 200, body: long });
  expect(await kept.ask("GET", "/gone", LIMITS)).toEqual({ status: 404, body: "GET /gone" });
  expect(await kept.ask("POST", "/c", LIMITS)).toEqual({ status: 200, body: "POST /c" });
  expect(sockets.size).toBe(1);
});

test("a connection that the server has closed meanwhile is opened again", async () => {
  await using served = await serve((_, response) => void response.end("here"));
  const { kept, sockets } = served;
  await kept.ask("GET", "/", LIMITS);
  for (const socket of sockets) socket.resetAndDestroy();
  expect(await kept.ask("GET", "/", LIMITS)).toEqual({ status: 200, body: "here" });
  expect(sockets.size).toBe(2);
});

test("an answer that ends with its connection is whole, and the next question takes another", async () => {
  await using server = await startHttpServer((_, response) => {
    response.shouldKeepAlive = false;
    response.removeHeader("transfer-encoding");
    response.useChunkedEncodingByDefault = false;
    response.end("until the end");
  });
  const kept = createKeptConnection({ address: () => ({ host: "127.0.0.1", port: server.port }), idleMs: 30_000 });
  for (let time = 0; time < 2; time += 1)
    expect(await kept.ask("GET", "/", LIMITS)).toEqual({ status: 200, body: "until the end" });
  kept.close();
});

test.each([
  { what: "no answer", answer: "", code: "timeout", limits: { ...LIMITS, timeoutMs: 20 } },
  { what: "too long an answer", answer: `HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123456789`, code: "too-large" },
  { what: "something else than HTTP", answer: "SSH-2.0-server\r\n\r\n", code: "bad-answer" },
  { what: "half an answer", answer: "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1234", ends: true, code: "cut-off" },
])("$what ends the connection, and the next question is answered", async ({ answer, ends, code, limits }) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let count = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.once("data", () => {
      count += 1;
      // Not before the question is there: on a machine that stands still the time would be over without one.
      if (count === 1 && limits !== undefined) vi.advanceTimersByTime(limits.timeoutMs);
      socket.write(count === 1 ? answer : "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood");
      if (count === 1 && ends) socket.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const kept = createKeptConnection({ address: () => ({ host: "127.0.0.1", port }), idleMs: 30_000 });
  await expect(kept.ask("GET", "/", { ...LIMITS, maxBytes: 8, ...limits })).rejects.toMatchObject({ code });
  expect(kept.isBusy).toBe(false);
  expect(await kept.ask("GET", "/", LIMITS)).toEqual({ status: 200, body: "good" });
  expect(count).toBe(2);
  kept.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((done) => server.close(done));
});

test("a server that is not there is a reason", async () => {
  const port = await freePort();
  const kept = createKeptConnection({ address: () => ({ host: "127.0.0.1", port }), idleMs: 30_000 });
  await expect(kept.ask("GET", "/", LIMITS)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect(kept.isBusy).toBe(false);
});

test("a connection without questions is closed after a while", async () => {
  // One that would stay open: a server of node closes connections by itself.
  const server = createServer((socket) => {
    socket.resume().once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const { port } = server.address() as { port: number };
  const kept = createKeptConnection({ address: () => ({ host: "127.0.0.1", port }), idleMs: 50 });
  expect((await kept.ask("GET", "/", LIMITS)).body).toBe("here");
  const [socket] = await accepted;
  if (!socket.closed) await once(socket, "close");
  await new Promise((done) => server.close(done));
});

test("one question at a time: another one has to take its own connection", async () => {
  await using served = await serve((_, response) => void response.end("here"));
  const first = served.kept.ask("GET", "/", LIMITS);
  expect(served.kept.isBusy).toBe(true);
  await expect(served.kept.ask("GET", "/", LIMITS)).rejects.toThrow("one request at a time");
  expect(await first).toEqual({ status: 200, body: "here" });
});
