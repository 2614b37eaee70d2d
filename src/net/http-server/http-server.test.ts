import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { request as secureRequest } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { selfSignedCertificate } from "../../../test/support/certs/openssl-certificates.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { askAndClose } from "../../../test/support/net/ask-and-close.ts";
import { freePort } from "../../../test/support/net/free-ports.ts";
import { fetchBytes } from "../../../test/support/status/scrape.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { createGrpcAcceptor } from "../../grpc/server/create-grpc-acceptor.ts";
import { createHttp2Answer } from "./exchanges.ts";
import { HttpError, type HttpHandler, type HttpRequest, json, text } from "./http-types.ts";
import { createRouteTable } from "./route-table.ts";
import { type HttpServerOptions, startHttpServer } from "./start-http-server.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

async function start(handler: HttpHandler, options: Partial<HttpServerOptions> = {}) {
  const log = recordLog();
  const listen = [{ host: "127.0.0.1", port: 0 }];
  const server = opened.add(await startHttpServer({ listen, handler, log, ...options }));
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetchBytes(server.port, path, headers, method);
  return { server, log, port: server.port, get };
}

async function rawClient(port: number, bytes = ""): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  opened.defer(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(bytes);
  return socket;
}

/** Everything the server sends until it closes the connection. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = await rawClient(port, bytes);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += String(chunk);
  });
  await once(socket, "close");
  return answer;
}

const hang = () => new Promise<undefined>(() => undefined);
const MEGABYTE = 1024 * 1024;

describe("a request", () => {
  test.each([
    { target: "/debug/../ready", path: "/ready" },
    { target: "/a/./b", path: "/a/b" },
    { target: "/%2e%2e/x", path: "/x" },
    { target: "/a%20b?c", path: "/a%20b" },
    { target: "http://[", path: "" },
  ])("to $target has the path $path", async ({ target, path }) => {
    const { port } = await start((request) => text(200, request.path));
    const answer = await answerTo(port, `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
    expect(answer.split("\r\n\r\n")[1]).toBe(`${path}\n`);
  });

  test("has its query by name, headers in one line each, and the peer's address", async () => {
    const { port } = await start(({ query, headers, peerAddress, method }) =>
      json({ query: [...query], accept: headers.accept, peerAddress, method }),
    );
    const lines = "POST /a?b=1&c=%20d?e HTTP/1.1\r\nHost: h\r\nAccept: x\r\nAccept: y\r\nConnection: close\r\n\r\n";
    expect(JSON.parse((await answerTo(port, lines)).split("\r\n\r\n")[1] ?? "")).toEqual({
      query: [
        ["b", "1"],
        ["c", " d?e"],
      ],
      accept: "x, y",
      peerAddress: "127.0.0.1",
      method: "POST",
    });
  });

  test("has a body up to the limit; a larger one is refused and its connection closed", async () => {
    const { port } = await start(async (request) => text(200, String((await request.body(MEGABYTE)).length)));
    const send = (bytes: number) =>
      fetch(`http://127.0.0.1:${port}/`, { method: "PUT", body: Buffer.alloc(bytes, "x") });
    expect(await (await send(MEGABYTE)).text()).toBe(`${MEGABYTE}\n`);
    const refused = await send(MEGABYTE + 1);
    expect([refused.status, await refused.text()]).toEqual([413, `the body is larger than ${MEGABYTE} bytes\n`]);
    const announced = `PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n${"x".repeat(MEGABYTE + 1)}`;
    expect(await answerTo(port, announced)).toMatch(/^HTTP\/1\.1 413 .*\r\nConnection: close\r\n/s);
  });

  test("whose client leaves in the middle of the body is not a failure", async () => {
    const { port, log, get } = await start(async (request) => text(200, String(await request.body(MEGABYTE))));
    (await rawClient(port, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nx")).resetAndDestroy();
    await expect.poll(() => log.lines).toMatchObject([{ level: "debug", message: "client went away" }]);
    expect((await get("/")).status).toBe(200);
  });
});

describe("routes", () => {
  const answer =
    (body: string): HttpHandler =>
    (_request, parameters) =>
      text(200, `${body}${JSON.stringify(parameters)}`);
  const table = createRouteTable();
  table.route("GET", "/ready", answer("ready"));
  table.route("*", "/debug", answer("index"));
  table.route("*", "/debug/", answer("page"));
  table.route("*", "/debug/special/", answer("special"));
  table.route("PUT", "/parts/{name}", answer("put"));
  table.route("POST", "/parts/{name}", answer("post"));
  table.route("GET", "/parts/all", answer("all"));
  table.route("GET", "/closed", answer("closed"), { check: () => text(403, "not you") });

  test.each([
    { method: "GET", path: "/ready?x", status: 200, body: "ready{}" },
    { method: "HEAD", path: "/ready", status: 200, body: "" },
    { method: "GET", path: "/debug", status: 200, body: "index{}" },
    { method: "DELETE", path: "/debug/edsz", status: 200, body: "page{}" },
    { method: "GET", path: "/debug/special/x", status: 200, body: "special{}" },
    { method: "GET", path: "/debug/special", status: 200, body: "page{}" },
    { method: "PUT", path: "/parts/web%2Fapp", status: 200, body: 'put{"name":"web/app"}' },
    { method: "POST", path: "/parts/web", status: 200, body: 'post{"name":"web"}' },
    { method: "GET", path: "/parts/all", status: 200, body: "all{}" },
    { method: "PUT", path: "/parts/a/b", status: 404, body: "404 page not found" },
    { method: "PUT", path: "/parts/", status: 404, body: "404 page not found" },
    { method: "PUT", path: "/parts/%zz", status: 400, body: "the path has a bad escape: %zz" },
    { method: "GET", path: "/ready/", status: 404, body: "404 page not found" },
    { method: "GET", path: "/Ready", status: 404, body: "404 page not found" },
    { method: "POST", path: "/ready", status: 405, body: "Method Not Allowed", allow: "GET, HEAD" },
    { method: "GET", path: "/parts/x", status: 405, body: "Method Not Allowed", allow: "PUT, POST" },
    { method: "POST", path: "/closed", status: 403, body: "not you" },
  ])("$method $path is $status: $body", async ({ method, path, status, body, allow }) => {
    const { get } = await start(table.handle);
    const got = await get(path, {}, method);
    expect([got.status, got.text.trimEnd(), got.headers.allow]).toEqual([status, body, allow]);
  });

  test("declared twice are a mistake in the program", () => {
    expect(() => table.route("GET", "/ready", hang)).toThrow("route GET /ready is declared twice");
    expect(table.paths()).toContain("/parts/{name}");
  });
});

describe("an answer", () => {
  test("has its length, and the headers that every answer has", async () => {
    const { get } = await start(() => ({ status: 302, body: "", headers: { Location: "/x" } }), {
      headers: { "Cache-Control": "no-store" },
    });
    expect((await get("/")).headers).toMatchObject({
      location: "/x",
      "cache-control": "no-store",
      "content-length": "0",
    });
  });

  test("to HEAD has the length of the body and no body", async () => {
    const { get } = await start(() => text(200, "four"));
    expect(await get("/", {}, "HEAD")).toMatchObject({ text: "", headers: { "content-length": "5" } });
  });

  test("for the caller's mistake says which, and the log says nothing", async () => {
    const { get, log } = await start(() => {
      throw new HttpError(400, "no proxy of that name");
    });
    expect(await get("/x")).toMatchObject({ status: 400, text: "no proxy of that name\n" });
    expect(log.lines).toEqual([]);
  });

  test("for our own mistake says nothing of the cause, which the log has", async () => {
    const { get, log } = await start(async () => {
      throw new TypeError("cannot read secret");
    });
    expect(await get("/x")).toMatchObject({ status: 500, text: "Internal Server Error\n" });
    expect(log.lines).toMatchObject([{ level: "error", fields: { path: "/x", error: "cannot read secret" } }]);
  });

  test("that cannot be sent is a failure, and one that cannot be reported ends its connection only", async () => {
    const { get, log } = await start(({ path }) => ({ status: 200, headers: { [path]: "\n" }, body: "" }), {
      onFailure: (thrown, { path }) => {
        if (path === "/twice") throw thrown;
        return text(500, "odd header");
      },
    });
    expect(await get("/once")).toMatchObject({ status: 500, text: "odd header\n" });
    await expect(get("/twice")).rejects.toThrow();
    expect(log.lines).toMatchObject([{ level: "error", fields: { target: "/twice" } }]);
  });

  test("that fails after its beginning is cut off, never completed", async () => {
    const { get } = await start((request) => {
      request.stream({ status: 200 }).write("half");
      throw new Error("no more");
    });
    await expect(get("/")).rejects.toThrow();
  });

  test("that a check gives before routing is the only one", async () => {
    const { get } = await start(hang, { check: ({ path }) => (path === "/x" ? text(403, "no") : undefined) });
    expect((await get("/x")).status).toBe(403);
  });

  test("that never comes to a client that has gone is given up", async () => {
    const seen: string[] = [];
    const { port } = await start(({ closed }) => {
      seen.push("asked");
      closed.addEventListener("abort", () => seen.push("gone"));
      return hang();
    });
    const client = await rawClient(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await expect.poll(() => seen).toEqual(["asked"]);
    client.resetAndDestroy();
    await expect.poll(() => seen).toEqual(["asked", "gone"]);
  });

  test("reaches a client that has closed its half, until its time is up", async () => {
    const slow = await start(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return text(200, "slowly");
    });
    expect(await askAndClose(slow.port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")).toMatch(/200 OK.*slowly\n$/s);
    const never = await start(hang, { limits: { halfClosedMs: 50 } });
    expect(await askAndClose(never.port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")).toBe("");
  });
});

describe("over HTTP/2", () => {
  async function startShared(handler: HttpHandler) {
    const log = recordLog();
    const acceptor = createGrpcAcceptor({ methods: [], onOtherRequest: createHttp2Answer({ handler, log }), log });
    opened.defer(() => acceptor.stop());
    const { port } = await start(handler, { onHttp2: acceptor.accept });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    opened.defer(() => void session.destroy());
    const ask = async (headers: Record<string, string>, body = "") => {
      const stream = session.request(headers, { endStream: false });
      stream.end(body);
      const [head] = (await once(stream, "response")) as [Record<string, unknown>];
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      return { head, body: Buffer.concat(chunks).toString() };
    };
    return Object.assign(ask, { session });
  }

  test("handlers see the same request and send the same answers", async () => {
    const ask = await startShared(async (request) => {
      const { method, path, query, headers, peerAddress } = request;
      const body = String(await request.body(10));
      return json({ method, path, q: query.get("q"), host: headers.host, peerAddress, body });
    });
    const { head, body } = await ask({ ":method": "PUT", ":path": "/a/../b?q=1", ":authority": "localhost" }, "text");
    expect(head).toMatchObject({ ":status": 200, "content-type": "application/json" });
    const want = { method: "PUT", path: "/b", q: "1", host: "localhost", peerAddress: "127.0.0.1", body: "text" };
    expect(JSON.parse(body)).toEqual(want);
    expect(await ask({ ":method": "HEAD", ":path": "/" })).toMatchObject({ head: { ":status": 200 }, body: "" });
    expect(await ask({ ":method": "PUT", ":path": "/" }, "x".repeat(11))).toMatchObject({ head: { ":status": 413 } });
  });

  test("a request that its client resets ends alone", async () => {
    let finish: (() => void) | undefined;
    const ask = await startShared(async ({ path, closed }) => {
      if (path === "/reset") await new Promise<void>((resolve) => (finish = resolve));
      return text(200, String(closed.aborted));
    });
    const reset = ask.session.request({ ":path": "/reset" });
    reset.on("error", () => undefined);
    await expect.poll(() => finish).toBeDefined();
    reset.close(8);
    await once(reset, "close");
    finish?.();
    expect(await ask({ ":path": "/" })).toMatchObject({ head: { ":status": 200 }, body: "false\n" });
  });

  test("pieces are streamed", async () => {
    const ask = await startShared((request) => {
      const output = request.stream({ status: 202, contentType: "text/plain" });
      output.write("a");
      output.end("b");
      return undefined;
    });
    expect(await ask({ ":path": "/" })).toMatchObject({ head: { ":status": 202 }, body: "ab" });
  });
});

test("with TLS, each connection is served with the certificate of its time", async () => {
  const credentials = [selfSignedCertificate(), selfSignedCertificate()];
  let asked = 0;
  const { port } = await start(() => text(200, "safe"), {
    tls: async () => credentials[asked++] ?? credentials[0] ?? selfSignedCertificate(),
  });
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, rejectUnauthorized: false, agent: false };
      const sent = secureRequest(options, (response) => {
        resolve((response.socket as import("node:tls").TLSSocket).getPeerCertificate().fingerprint256);
        response.resume();
      });
      sent.on("error", reject).end();
    });
  const [first, second] = [await serial(), await serial()];
  expect(first).not.toBe(second);
  expect(asked).toBe(2);
});

describe("start", () => {
  test("binds every address to one port, and a taken one leaves none open", async () => {
    const squatter = createServer();
    // Free on both: a connection of somebody else may have a port of the kernel's choice on the other one.
    const port = await freePort("127.0.0.1", "127.0.0.2");
    await new Promise<void>((ready) => squatter.listen(port, "127.0.0.2", ready));
    opened.defer(() => new Promise<void>((closed) => void squatter.close(() => closed())));
    const listen = ["127.0.0.1", "127.0.0.2"].map((host) => ({ host, port }));
    await expect(start(hang, { listen })).rejects.toMatchObject({ code: "address-in-use" });
    const { server } = await start(hang, { listen: [{ host: "127.0.0.1", port }] });
    expect(server.address).toEqual({ host: "127.0.0.1", port });
    const both = await start(() => text(200, "here"), {
      listen: ["127.0.0.1", "127.0.0.3"].map((host) => ({ host, port: 0 })),
    });
    for (const host of ["127.0.0.1", "127.0.0.3"])
      expect((await fetch(`http://${host}:${both.port}/`)).status).toBe(200);
  });

  test("without a host serves both families", async () => {
    const { port } = await start(() => text(200, "here"), { listen: [{ port: 0 }] });
    for (const host of ["127.0.0.1", "[::1]"]) expect((await fetch(`http://${host}:${port}/`)).status).toBe(200);
  });

  test("binds a unix socket with its mode, which is gone after the stop", async () => {
    const folder = mkdtempSync(join(tmpdir(), "http-server-"));
    opened.defer(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "socket");
    const { server } = await start(hang, { listen: [{ path, mode: 0o600 }] });
    expect([server.address, server.port, statSync(path).mode & 0o777]).toEqual([{ path }, 0, 0o600]);
    await server.stop();
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });
});

describe("stop", () => {
  test("waits neither for silent clients nor for those that do not read, and may be called twice", async () => {
    const { server, port } = await start((request) => {
      request.stream({ status: 200 }).write(Buffer.alloc(64 * MEGABYTE));
      return undefined;
    });
    await rawClient(port);
    await rawClient(port, "GET / HTTP/1.1\r\nHost: h\r\n");
    const frozen = await rawClient(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await once(frozen, "readable");
    await Promise.all([server.stop(), server.stop()]);
    await start(hang, { listen: [{ host: "127.0.0.1", port }] });
  });

  test("lets answers under way finish for as long as it may", async () => {
    let finish: (() => void) | undefined;
    const { server, port, get } = await start(
      async () => {
        await new Promise<void>((resolve) => (finish = resolve));
        return text(200, "finished");
      },
      { limits: { graceMs: 60_000 } },
    );
    await rawClient(port);
    const asked = get("/");
    await expect.poll(() => finish).toBeDefined();
    const stopped = server.stop();
    finish?.();
    expect((await asked).text).toBe("finished\n");
    await stopped;
  });

  test("cuts off those that take longer", async () => {
    let calls = 0;
    const handler = () => {
      calls++;
      return hang();
    };
    const { server, get } = await start(handler, { limits: { graceMs: 30 } });
    const asked = get("/").catch(() => "cut off");
    await expect.poll(() => calls).toBe(1);
    await server.stop();
    expect(await asked).toBe("cut off");
  });
});

describe("limits", () => {
  test("close connections whose head, or whose next request, does not come", async () => {
    const hasty = await start(() => text(200, "ok"), { limits: { headersMs: 100, requestMs: 100 } });
    expect(await answerTo(hasty.port, "GET / HTTP/1.1\r\nHost")).toMatch(/^HTTP\/1\.1 408 /);
    const { port } = await start(() => text(200, "ok"), { limits: { keepAliveMs: 100 } });
    expect(await answerTo(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("close connections whose body does not come whole", async () => {
    const read = async (request: HttpRequest) => text(200, String(await request.body(100)));
    const hasty = await start(read, { limits: { requestMs: 100 } });
    const { port } = await start(read);
    const head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nConnection: close\r\n\r\n";
    expect(await answerTo(hasty.port, `${head}half`)).toMatch(/^HTTP\/1\.1 408 /);
    expect(await answerTo(port, `${head}the whole`)).toContain("the whole");
  });

  test("beyond the number of connections close the one that has waited longest for a request", async () => {
    const { port, get } = await start(() => text(200, "ok"), { limits: { maxConnections: 3 } });
    const [silent, half, used] = [await rawClient(port), await rawClient(port, "GET / HT"), await rawClient(port)];
    used.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await once(used, "data");
    const closed = [once(silent, "close"), once(half, "close")];
    silent.resume();
    half.resume();
    await rawClient(port);
    await closed[0];
    expect((await get("/")).status).toBe(200);
    await closed[1];
    used.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    expect(String((await once(used, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("turn a new connection away while all others are being answered", async () => {
    let asked = 0;
    const answers: (() => void)[] = [];
    const { port, get } = await start(
      async () => {
        asked++;
        await new Promise<void>((resolve) => answers.push(resolve));
        return text(200, "ok");
      },
      { limits: { maxConnections: 2 } },
    );
    const answered = [get("/"), get("/")];
    await expect.poll(() => asked).toBe(2);
    await expect(get("/")).rejects.toThrow();
    expect(await answerTo(port, "")).toBe("");
    for (const answer of answers) answer();
    expect((await Promise.all(answered)).map(({ status }) => status)).toEqual([200, 200]);
  });
});
