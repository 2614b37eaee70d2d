import { createServer } from "node:net";
import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { sendRequest } from "./loopback-request.ts";
import { requestUrl } from "./request.ts";

test("method, path and body arrive as given, without a content type", async () => {
  let heard = "";
  await using server = await startHttpServer((request, response) => {
    request.on("data", (chunk) => {
      heard += String(chunk);
    });
    request.on("end", () =>
      response.end(`${request.method} ${request.url} ${request.headers["content-type"]} ${heard}`),
    );
  });
  const answer = await sendRequest({ method: "POST", url: `${server.url}/want/path`, body: "hello", timeoutMs: 5000 });
  expect(answer).toEqual({ status: 200, body: "POST /want/path undefined hello" });
});

test("localhost is reached on IPv6 when only that answers", async () => {
  await using server = await startHttpServer((_request, response) => response.end("six"), "::1");
  expect((await sendRequest({ method: "GET", url: `${server.url}/`, timeoutMs: 5000 })).body).toBe("six");
});

test.each([
  { status: 302, method: "GET", body: "" },
  { status: 307, method: "POST", body: "kept" },
])("a $status redirect of a POST is followed as $method with body '$body'", async ({ status, method, body }) => {
  await using server = await startHttpServer((request, response) => {
    if (request.url === "/from") return response.writeHead(status, { location: "/to" }).end();
    let heard = "";
    request.on("data", (chunk) => {
      heard += String(chunk);
    });
    return request.on("end", () => response.end(`${request.method} ${heard}`));
  });
  const answer = await sendRequest({ method: "POST", url: `${server.url}/from`, body: "kept", timeoutMs: 5000 });
  expect(answer.body).toBe(`${method} ${body}`);
});

test.each([
  { redirects: 9, outcome: "200" },
  { redirects: 10, outcome: 'Post "/9": stopped after 10 redirects' },
])("$redirects redirects in a row end with: $outcome", async ({ redirects, outcome }) => {
  let asked = 0;
  await using server = await startHttpServer((_request, response) => {
    if (asked < redirects) response.writeHead(302, { location: `/${asked++}` }).end();
    else response.end();
  });
  const sent = sendRequest({ method: "POST", url: `${server.url}/`, timeoutMs: 5000 });
  expect(
    await sent.then(
      ({ status }) => String(status),
      (thrown: Error) => thrown.message,
    ),
  ).toBe(outcome);
});

test.each([
  { method: "get", verb: "get" },
  { method: "POST", verb: "Post" },
  { method: "pATCH", verb: "patch" },
  { method: "", verb: "Get" },
])("method '$method' is called $verb in errors", async ({ method, verb }) => {
  await expect(sendRequest({ method, url: "ftp://localhost/a", timeoutMs: 50 })).rejects.toThrow(
    `${verb} "ftp://localhost/a": unsupported protocol scheme "ftp"`,
  );
});

test("an address without a scheme is refused", async () => {
  await expect(sendRequest({ method: "GET", url: "healthz", timeoutMs: 50 })).rejects.toThrow(
    'Get "healthz": unsupported protocol scheme ""',
  );
});

test("https is spoken: a server without TLS is not understood", async () => {
  await using server = await startHttpServer((_request, response) => response.end());
  const url = server.url.replace("http:", "https:");
  await expect(sendRequest({ method: "GET", url, timeoutMs: 5000 })).rejects.toThrow(/^Get "https:.*SSL/);
});

test("a body that does not end in time is told without the request", async () => {
  await using server = await startHttpServer((_request, response) => response.write("half"));
  await expect(sendRequest({ method: "GET", url: `${server.url}/`, timeoutMs: 100 })).rejects.toThrow(
    /^context deadline exceeded \(Client.Timeout or context cancellation while reading body\)$/,
  );
});

test.each([0, -5])("a limit of %d is none", async (timeoutMs) => {
  await using server = await startHttpServer((_request, response) => response.end("there"));
  expect((await sendRequest({ method: "GET", url: `${server.url}/`, timeoutMs })).body).toBe("there");
});

test("a refused connection reads like the reference's", async () => {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const address = probe.address();
  const port = typeof address === "object" ? address?.port : 0;
  await new Promise((resolve) => probe.close(resolve));
  await expect(sendRequest({ method: "GET", url: `http://localhost:${port}/a`, timeoutMs: 5000 })).rejects.toThrow(
    `Get "http://localhost:${port}/a": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
});

test("a silent server runs into the time limit", async () => {
  await using server = await startHttpServer(() => undefined);
  await expect(sendRequest({ method: "GET", url: `${server.url}/`, timeoutMs: 50 })).rejects.toMatchObject({
    code: "timeout",
    message: `Get "${server.url}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  });
});

test("a method that is no token is refused before anything is sent", async () => {
  await expect(sendRequest({ method: "G T", url: "http://localhost:1/", timeoutMs: 50 })).rejects.toThrow(
    'net/http: invalid method "G T"',
  );
});

test.each([
  { path: "/want/path", url: "http://localhost:15000/want/path" },
  { path: "want/path", url: "http://localhost:15000/want/path" },
  { path: "//two", url: "http://localhost:15000//two" },
  { path: "stats?filter=a b", url: "http://localhost:15000/stats?filter=a%20b" },
])("path $path becomes $url", ({ path, url }) => {
  expect(requestUrl(15000, path)).toBe(url);
});
