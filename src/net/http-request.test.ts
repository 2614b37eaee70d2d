import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import "../../test/support/no-open-handles.ts";
import { makeCertificate } from "../../test/support/certs/ca-certificates.ts";
import { CloseStack } from "../base/close-stack.ts";
import { httpRequest } from "./http-request.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

async function listen(server: Server & { closeAllConnections(): void }): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

test("a request carries method, headers and body, and the answer whatever its status", async () => {
  const port = await listen(
    createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      response.writeHead(418, { "x-seen": `${request.method} ${request.headers["x-a"]}` }).end(Buffer.concat(chunks));
    }),
  );
  const answer = await httpRequest({
    url: `http://127.0.0.1:${port}/path?q=1`,
    method: "POST",
    headers: { "x-a": "b" },
    body: "grüße",
    timeoutMs: 5_000,
  });
  expect(answer).toMatchObject({ status: 418, body: "grüße", headers: { "x-seen": "POST b" } });
});

test("https is verified against the given roots", async () => {
  const root = await makeCertificate({ organization: "root" });
  const leaf = await makeCertificate({ by: root, isCa: false, hosts: ["127.0.0.1"] });
  const port = await listen(
    createTlsServer({ key: leaf.keyPem, cert: leaf.pem }, (_request, response) => void response.end("ok")),
  );
  const url = `https://127.0.0.1:${port}/`;
  expect((await httpRequest({ url, timeoutMs: 5_000, ca: root.pem })).body).toBe("ok");
  await expect(httpRequest({ url, timeoutMs: 5_000 })).rejects.toMatchObject({ code: "unreachable" });
});

test.each(["", "ftp://x/", "nonsense"])("%j is no address", async (url) => {
  expect(() => httpRequest({ url, timeoutMs: 1 })).toThrow(expect.objectContaining({ code: "invalid-url" }));
});

test("nobody there, no answer, too long an answer and a cancelled request are told apart, and queries are not shown", async () => {
  const port = await listen(
    createServer((request, response) => {
      if (request.url?.startsWith("/large")) response.end("x".repeat(100));
      if (request.url?.startsWith("/cut"))
        response.writeHead(200, { "content-length": 9 }).write("x", () => request.socket.destroy());
    }),
  );
  const base = `http://127.0.0.1:${port}`;
  const failure = (path: string, more: object = {}) =>
    httpRequest({ url: `${base}${path}?token=secret`, timeoutMs: 5_000, ...more }).catch((thrown: unknown) => thrown);
  expect(await failure("/silent", { timeoutMs: 50 })).toMatchObject({
    code: "timeout",
    message: `GET ${base}/silent: no answer within 50 ms`,
  });
  expect(await failure("/large", { maxBytes: 99 })).toMatchObject({ code: "too-large" });
  expect(await failure("/cut")).toMatchObject({ code: "unreachable" });
  expect(await failure("/silent", { signal: AbortSignal.abort() })).toMatchObject({ code: "cancelled" });
  const stop = new AbortController();
  const running = failure("/silent", { signal: stop.signal });
  stop.abort();
  expect(await running).toMatchObject({ code: "cancelled" });
  const gone = await httpRequest({ url: "http://127.0.0.1:1/x", timeoutMs: 5_000 }).catch((thrown: unknown) => thrown);
  expect(gone).toMatchObject({ code: "unreachable", message: expect.stringContaining("ECONNREFUSED") });
});
