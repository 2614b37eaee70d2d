import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test, vi } from "vitest";
import "../../../test/support/no-open-handles.ts";
import { makeCertificate } from "../../../test/support/certs/certificates.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { HttpError } from "./http-error.ts";
import { httpRequest, openHttp } from "./http-request.ts";

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

/** Time passes only where the test says so, however long the machine takes. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  opened.defer(async () => void vi.useRealTimers());
}

test("a request carries method, headers and body, and resolves with the response of any status", async () => {
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
  expect((await httpRequest({ url, timeoutMs: 5_000, tls: { ca: root.pem } })).body).toBe("ok");
  await expect(httpRequest({ url, timeoutMs: 5_000 })).rejects.toMatchObject({ code: "unreachable" });
});

test.each(["", "ftp://x/", "nonsense"])("%j is not an address", async (url) => {
  await expect(httpRequest({ url, timeoutMs: 1 })).rejects.toMatchObject({ code: "invalid-url" });
});

test("a closed port, no answer, too long an answer and a cancelled request have codes of their own, and queries are not shown", async () => {
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
  expect(gone).toMatchObject({
    code: "unreachable",
    message: expect.stringContaining("ECONNREFUSED"),
    dial: { code: "ECONNREFUSED", address: "127.0.0.1", port: 1 },
  });
});

async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(listener))}`;
}

test("a body that stops in the middle runs into the time limit, and the error says that the head was there", async () => {
  const base = await serve(
    (_request, response) => void response.writeHead(200, { "content-length": 100 }).write("half"),
  );
  stopClock();
  const readsBody = () => {
    setImmediate(() => vi.advanceTimersByTime(50));
    return true;
  };
  const failure = httpRequest({ url: base, timeoutMs: 50, readsBody });
  await expect(failure).rejects.toMatchObject({ code: "timeout", phase: "body" });
});

/** Sends for as long as the client reads. */
const flood: RequestListener = (_request, response) => {
  const chunk = Buffer.alloc(65_536, "x");
  const pour = () => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once("drain", pour);
  };
  pour();
};

test("an endless body is refused or cut at the limit", async () => {
  const url = await serve(flood);
  await expect(httpRequest({ url, timeoutMs: 5_000 })).rejects.toMatchObject({ code: "too-large" });
  const { bytes } = await httpRequest({ url, timeoutMs: 5_000, maxBytes: 100_000, truncates: true });
  expect(bytes).toHaveLength(100_000);
});

test("bodies that the caller does not want are not read", async () => {
  const url = await serve(flood);
  expect((await httpRequest({ url, timeoutMs: 5_000, readsBody: (status) => status !== 200 })).bytes).toHaveLength(0);
});

test("a unix socket is asked by path", async () => {
  const folder = mkdtempSync(join(tmpdir(), "http-"));
  opened.defer(async () => rmSync(folder, { recursive: true }));
  const socketPath = join(folder, "s");
  const server = createServer((request, response) => void response.end(`${request.headers.host} ${request.url}`));
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  opened.defer(async () => void (await new Promise((resolve) => server.close(resolve))));
  expect((await httpRequest({ url: "http://localhost/a?b", socketPath })).body).toBe("localhost /a?b");
  const gone = httpRequest({ url: "http://localhost/", socketPath: `${socketPath}-gone` });
  await expect(gone).rejects.toMatchObject({ code: "unreachable", dial: { code: "ENOENT" } });
});

test("a streamed body outlives the time limit of its head, and ends with the signal", async () => {
  let end = () => undefined as unknown;
  const url = await serve((_request, response) => {
    response.write("one ");
    end = () => response.end("two");
  });
  stopClock();
  const late = await openHttp({ url, timeoutMs: 500 });
  vi.advanceTimersByTime(700);
  end();
  expect(await text(late.body)).toBe("one two");
  const stop = new AbortController();
  const { body } = await openHttp({ url: await serve(flood), timeoutMs: 5_000, signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(text(body)).rejects.toThrow("enough");
});

describe("redirects", () => {
  const echo: RequestListener = (request, response) => {
    const [, status, to] = /^\/(\d+)\/(.*)$/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    if (status !== undefined) return void response.writeHead(Number(status), { location: to }).end();
    const { authorization, "x-mine": mine, "content-type": type } = request.headers;
    request.resume().on("end", () => response.end([request.method, authorization, mine, type].join()));
  };
  const headers = { authorization: "secret", "x-mine": "m", "content-type": "t" };
  const to = (base: string, status: number, location: string) => `${base}/${status}/${encodeURIComponent(location)}`;

  test.each([
    { status: 302, method: "POST", seen: "GET,secret,m," },
    { status: 303, method: "PUT", seen: "GET,secret,m," },
    { status: 307, method: "POST", seen: "POST,secret,m,t" },
    { status: 308, method: "PUT", seen: "PUT,secret,m,t" },
    { status: 301, method: "HEAD", seen: "" },
  ])("a $status of a $method is followed on the same origin as: $seen", async ({ status, method, seen }) => {
    const base = await serve(echo);
    const answer = await httpRequest({
      url: to(base, status, "/end"),
      method,
      headers,
      redirects: { maxRequests: 2 },
    });
    expect(answer.body).toBe(seen);
    expect(answer.url.href).toBe(`${base}/end`);
  });

  test("another origin does not see credentials, or what the caller names", async () => {
    const [base, other] = [await serve(echo), await serve(echo)];
    const url = to(base, 302, `${other}/end`);
    const follow = (more: object = {}) => httpRequest({ url, headers, redirects: { maxRequests: 2, ...more } });
    expect((await follow()).body).toBe("GET,,m,");
    expect((await follow({ dropsAcrossOrigins: ["x-mine"] })).body).toBe("GET,secret,,");
  });

  test("are not followed unless asked for, nor where the rule says no", async () => {
    const base = await serve(echo);
    const url = to(base, 302, "/end");
    expect((await httpRequest({ url })).status).toBe(302);
    expect((await httpRequest({ url, redirects: { maxRequests: 9, allows: () => false } })).status).toBe(302);
  });

  test.each([
    { location: "http://[", reason: 'failed to parse Location header "http://["' },
    { location: "ftp://x/", reason: 'unsupported protocol scheme "ftp"' },
  ])("to $location fail", async ({ location, reason }) => {
    const url = to(await serve(echo), 302, location);
    await expect(httpRequest({ url, redirects: { maxRequests: 9 } })).rejects.toMatchObject({
      code: "redirect",
      reason,
    });
  });

  test("end after the allowed number of requests", async () => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      response.writeHead(302, { location: "/again" }).end();
    });
    const reason = "stopped after 3 redirects";
    await expect(httpRequest({ url, redirects: { maxRequests: 3 } })).rejects.toMatchObject({
      code: "redirect",
      reason,
    });
    expect(asked).toBe(3);
  });

  test("are checked one by one, and each may travel another way", async () => {
    const base = await serve(echo);
    const seen: string[] = [];
    const refusal = new Error("not there");
    const request = {
      url: to(base, 302, "/end"),
      redirects: { maxRequests: 5 },
      forHop: (url: URL) => {
        seen.push(url.pathname);
        if (url.pathname === "/end") throw refusal;
        return {};
      },
    };
    await expect(httpRequest(request)).rejects.toBe(refusal);
    expect(seen).toHaveLength(2);
  });
});

test("a server that switches protocols is an error of its own", async () => {
  const server = createServer().on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
  });
  const port = await listen(server);
  const headers = { connection: "upgrade", upgrade: "x" };
  const failure = await httpRequest({ url: `http://127.0.0.1:${port}/`, headers }).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(HttpError);
  expect(failure).toMatchObject({ code: "upgraded" });
});

test("each hop may have a time limit of its own", async () => {
  stopClock();
  const url = await serve((request, response) => {
    vi.advanceTimersByTime(request.url === "/slow" ? 200 : 150);
    if (request.url === "/slow") return;
    response.writeHead(302, { location: request.url === "/" ? "/two" : "/slow" }).end();
  });
  const failure = httpRequest({ url, hopTimeoutMs: 200, redirects: { maxRequests: 5 } });
  await expect(failure).rejects.toMatchObject({ code: "timeout", message: `GET ${url}/slow: no answer within 200 ms` });
});
