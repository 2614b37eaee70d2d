import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/net/http-server.ts";
import { metadataRequest, metadataText } from "./metadata-request.ts";

const never = new AbortController().signal;

test("method, headers and answer pass", async () => {
  await using server = await startHttpServer((request, response) => {
    response.writeHead(201, { "X-Answer": String(request.headers["x-ask"]) }).end(`${request.method} ${request.url}`);
  });
  const answer = await metadataRequest(`http://127.0.0.1:${server.port}/a?b=c`, {
    method: "PUT",
    headers: { "X-Ask": "y" },
    timeoutMs: 2000,
    signal: never,
  });
  expect(answer).toMatchObject({ status: 201, body: "PUT /a?b=c", headers: { "x-answer": "y" } });
});

test("a text is the body of a 200 answer and of no other", async () => {
  await using server = await startHttpServer((request, response) => {
    response.writeHead(request.url === "/ok" ? 200 : 404).end("body");
  });
  const base = `http://127.0.0.1:${server.port}`;
  expect(await metadataText(`${base}/ok`, { timeoutMs: 2000, signal: never })).toBe("body");
  await expect(metadataText(`${base}/no`, { timeoutMs: 2000, signal: never })).rejects.toMatchObject({
    code: "unexpected-status",
  });
});

test("a server that does not answer is given up on", async () => {
  await using silent = await startHttpServer(() => undefined);
  await expect(metadataRequest(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 20, signal: never })).rejects.toThrow();
});

test("a server that stops in the middle of its answer is given up on", async () => {
  await using half = await startHttpServer((_, response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("half");
  });
  await expect(metadataRequest(`http://127.0.0.1:${half.port}/`, { timeoutMs: 50, signal: never })).rejects.toThrow();
});

test("an abort ends the request", async () => {
  await using silent = await startHttpServer(() => undefined);
  const stopped = new AbortController();
  const pending = metadataRequest(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 10_000, signal: stopped.signal });
  stopped.abort();
  await expect(pending).rejects.toThrow();
});

test("an endless answer is cut off", async () => {
  await using flood = await startHttpServer((_, response) => {
    const chunk = Buffer.alloc(65_536);
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once("drain", pour);
    };
    pour();
  });
  await expect(
    metadataRequest(`http://127.0.0.1:${flood.port}/`, { timeoutMs: 10_000, signal: never }),
  ).rejects.toMatchObject({ code: "too-large" });
});

test("a closed port is refused", async () => {
  const { port } = await closedPort();
  await expect(metadataRequest(`http://127.0.0.1:${port}/`, { timeoutMs: 2000, signal: never })).rejects.toMatchObject({
    code: "ECONNREFUSED",
  });
});

async function closedPort(): Promise<{ readonly port: number }> {
  await using server = await startHttpServer(() => undefined);
  return { port: server.port };
}
