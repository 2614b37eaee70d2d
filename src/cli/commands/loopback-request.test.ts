import { createServer } from "node:net";
import { expect, test } from "vitest";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
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
  expect(answer).toMatchObject({ status: 200, body: "POST /want/path undefined hello" });
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

test("a body that does not end in time is reported without the request", async () => {
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

test.each([
  { path: "a%zz", names: "%zz" },
  { path: "a%z", names: "%z" },
  { path: "%", names: "%" },
  { path: "%41%4g?x=%zz", names: "%4g" },
])("a path with $names is refused before anything is sent", async ({ path, names }) => {
  const url = `http://localhost:1/${path}`;
  await expect(sendRequest({ method: "GET", url, timeoutMs: 5000 })).rejects.toThrow(
    `parse "${url}": invalid URL escape "${names}"`,
  );
});

test("percent signs in a query are the server's matter", async () => {
  await using server = await startHttpServer((request, response) => response.end(request.url));
  expect((await sendRequest({ method: "GET", url: `${server.url}/%41?x=%zz`, timeoutMs: 5000 })).body).toBe(
    "/%41?x=%zz",
  );
});

test("an address without a way to it reads like the reference's", async () => {
  await expect(sendRequest({ method: "GET", url: "http://255.255.255.255:1/", timeoutMs: 5000 })).rejects.toThrow(
    /^Get "http:\/\/255\.255\.255\.255:1\/": dial tcp 255\.255\.255\.255:1: connect: (network is unreachable|permission denied)$/,
  );
});

test("a silent server runs into the time limit", async () => {
  await using server = await startHttpServer(() => undefined);
  await expect(sendRequest({ method: "GET", url: `${server.url}/`, timeoutMs: 50 })).rejects.toMatchObject({
    code: "timeout",
    message: `Get "${server.url}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  });
});

test("a method that is not a token is refused before anything is sent", async () => {
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

test.each([
  { written: "/../../a/./b", arrives: "/../../a/./b" },
  { written: "/a\\b", arrives: "/a%5Cb" },
  { written: '/stats?filter=^a|"b"\\.c', arrives: '/stats?filter=^a|"b"\\.c' },
  { written: "/é?é#frag", arrives: "/%C3%A9?%C3%A9" },
  { written: "?a=b", arrives: "/?a=b" },
  { written: "", arrives: "/" },
])("the target $written arrives as $arrives", async ({ written, arrives }) => {
  await using server = await startHttpServer((request, response) => response.end(request.url));
  expect((await sendRequest({ method: "GET", url: server.url + written, timeoutMs: 5000 })).body).toBe(arrives);
});

test.each([
  { what: "a method in small letters", method: "purge", arrives: "purge / HTTP/1.1" },
  { what: "no method", method: "", arrives: "GET / HTTP/1.1" },
])("$what arrives as: $arrives", async ({ method, arrives }) => {
  await using server = await startRawServer((heard) => {
    const [line = ""] = heard.split("\r\n");
    return `HTTP/1.1 200 OK\r\ncontent-length: ${line.length}\r\n\r\n${line}`;
  });
  expect((await sendRequest({ method, url: server.url, timeoutMs: 5000 })).body).toBe(arrives);
});

test("a body that is not text comes back byte by byte", async () => {
  const bytes = Buffer.from([0xff, 0xfe, 0, 0x80]);
  await using server = await startHttpServer((_request, response) => response.end(bytes));
  expect((await sendRequest({ method: "GET", url: server.url, timeoutMs: 5000 })).bytes).toEqual(bytes);
});

test.each([
  { what: "a body cut short", answer: "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", reason: /^unexpected EOF$/ },
  { what: "no answer at all", answer: "", reason: /^Get ".*": EOF$/ },
  { what: "something else than HTTP", answer: "hello\r\n\r\n", reason: /^Get ".*": Parse Error/ },
  {
    what: "a change of the protocol",
    answer: "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    reason: /^Get ".*": the server wants to speak another protocol$/,
  },
  {
    what: "a redirect to nowhere",
    answer: "HTTP/1.1 302 Found\r\nlocation: http://[bad\r\ncontent-length: 0\r\n\r\n",
    reason: /^Get ".*": failed to parse Location header "http:\/\/\[bad"$/,
  },
])("$what ends the request with a reason", async ({ answer, reason }) => {
  await using server = await startRawServer(() => answer);
  await expect(sendRequest({ method: "GET", url: server.url, timeoutMs: 5000 })).rejects.toThrow(reason);
});

test("a tunnel that the server opens is reported and not waited for", async () => {
  await using server = await startRawServer(() => "HTTP/1.1 200 OK\r\n\r\n");
  await expect(sendRequest({ method: "CONNECT", url: server.url, timeoutMs: 5000 })).rejects.toThrow(
    /^Connect ".*": the server wants to speak another protocol$/,
  );
});

test("headers of a hundred kilobytes are taken", async () => {
  const header = "a".repeat(100_000);
  await using server = await startRawServer(() => `HTTP/1.1 200 OK\r\nx: ${header}\r\ncontent-length: 2\r\n\r\nok`);
  expect((await sendRequest({ method: "GET", url: server.url, timeoutMs: 5000 })).body).toBe("ok");
});

test.each([
  { url: "http://localhost:99999/", reason: "dial tcp: address 99999: invalid port" },
  { url: "http://[bad/", reason: "invalid URL" },
  { url: "http://name.invalid/", reason: "dial tcp: lookup name.invalid: no such host" },
])("$url fails with: $reason", async ({ url, reason }) => {
  await expect(sendRequest({ method: "GET", url, timeoutMs: 20_000 })).rejects.toThrow(`Get "${url}": ${reason}`);
});

test.each([2 ** 31, 99_999_999_999])("a limit of %d ms is long, not over at once", async (timeoutMs) => {
  await using server = await startHttpServer((_request, response) => {
    setTimeout(() => response.end("late"), 30).unref();
  });
  expect((await sendRequest({ method: "GET", url: server.url, timeoutMs })).body).toBe("late");
});

/** Answers every request with the same bytes and closes. */
async function startRawServer(answer: (heard: string) => string) {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (heard) => socket.end(answer(String(heard))));
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => server.close(() => closed())),
  };
}
