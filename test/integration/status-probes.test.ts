import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { HEALTH_CHECK } from "../../src/grpc/client/check-health.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { addressText } from "../../src/net/listen/listen.ts";
import { readAppProbers } from "../../src/status/core/app-probers.ts";
import { STATUS_RULES } from "../../src/status/core/generations.ts";
import { type AppProbeOptions, createAppProbeHandler } from "../../src/status/probes/app-probe-handler.ts";
import { createProbeConnections } from "../../src/status/probes/probe-connections.ts";
import { selfSignedCertificate } from "../support/certs/openssl-certificates.ts";
import { recordingLogger } from "../support/envoy/life.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { fetchBytes } from "../support/status/scrape.ts";
import { startTestStatusServer } from "../support/status/server.ts";

const READYZ = "/app-health/app/readyz";
const STATUS_PORT_PLACEHOLDER = 0;

async function startProbes(prober: object, overrides: Partial<AppProbeOptions> = {}) {
  await using opened = new CloseStack();
  const log = recordingLogger();
  const server = opened.add(await startTestStatusServer(log));
  const handler = createAppProbeHandler({
    probers: readAppProbers({ [READYZ]: prober }, STATUS_RULES.master.probers),
    target: { host: "127.0.0.1", localAddress: "127.0.0.6" },
    statusPort: overrides.statusPort ?? STATUS_PORT_PLACEHOLDER,
    http2: true,
    relaysBody: true,
    isLocal: false,
    log,
    ...overrides,
  });
  server.route("*", "/app-health/", handler);
  const owned = opened.move();
  return {
    port: server.port,
    log,
    probe: (headers: Record<string, string> = {}, method = "GET", path = READYZ) =>
      fetchBytes(server.port, path, headers, method),
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

const http = (listener: RequestListener) => startHttpServer(listener);
async function listen(server: Server, port = 0, host = "127.0.0.1"): Promise<number> {
  await new Promise<void>((ready) => server.listen(port, host, ready));
  return (server.address() as { port: number }).port;
}
const close = (server: Server) => new Promise<void>((closed) => server.close(() => closed()));

test.each([
  { path: "/hello/sunnyvale", asked: "/hello/sunnyvale" },
  { path: "hello/texas", asked: "/hello/texas" },
  { path: undefined, asked: "/" },
  { path: "/q?a=b c", asked: "/q?a=b%20c" },
  { path: "/q?a=%zz", asked: "/q?a=%zz" },
  { path: "/%zz", asked: undefined },
  { path: "/a\r\nX: y", asked: undefined },
  { path: "/a\u007f", asked: undefined },
])("path $path asks for $asked", async ({ path, asked }) => {
  const seen: (string | undefined)[] = [];
  await using app = await http((request, response) => {
    seen.push(request.url);
    response.end("fine");
  });
  await using t = await startProbes({ httpGet: { port: app.port, ...(path !== undefined && { path }) } });
  const answer = await t.probe({}, "GET", `${READYZ}?ignored=1`);
  expect(answer.status).toBe(asked === undefined ? 500 : 200);
  expect(seen).toEqual(asked === undefined ? [] : [asked]);
});

test("the application sees the kubelet's headers from the probe address, on a connection that closes", async () => {
  const seen: IncomingMessage[] = [];
  await using app = await http((request, response) => {
    seen.push(request);
    expect(request.socket.remoteAddress).toBe("127.0.0.6");
    response.setHeader("Content-Type", "application/x-thing");
    response.writeHead(418).end("body");
  });
  const httpHeaders = [{ name: "X-Configured", value: "no" }];
  await using t = await startProbes({ httpGet: { port: app.port, path: "/", host: "elsewhere", httpHeaders } });
  const answer = await t.probe(
    {
      Host: "test.com:9999",
      "User-Agent": "kube-probe/1.30",
      "Some-Header": "some-value",
      "Content-Length": "3",
      Connection: "x",
    },
    "HEAD",
  );
  expect(answer.status).toBe(418);
  expect((await t.probe()).text).toBe("body");
  expect((await t.probe()).headers["content-type"]).toBe("application/x-thing");
  expect(seen[0]?.method).toBe("GET");
  expect(seen[0]?.headers).toEqual({
    host: "test.com:9999",
    "user-agent": "kube-probe/1.30",
    "some-header": "some-value",
    "accept-encoding": "gzip",
    connection: "close",
  });
});

test("repeated headers keep their number, and a Host with the status port gets the probe's port", async () => {
  const seen: string[][] = [];
  await using app = await http((request, response) => {
    seen.push(request.rawHeaders);
    response.end();
  });
  await using t = await startProbes({ httpGet: { port: app.port } }, { statusPort: 15020 });
  await new Promise<void>((done) => {
    const socket = connect(t.port, "127.0.0.1");
    socket.write(`GET ${READYZ} HTTP/1.1\r\nHost: pod:15020\r\nX-A: 1\r\nx-a: 2\r\nConnection: close\r\n\r\n`);
    socket.resume().on("close", () => done());
  });
  expect(seen[0]?.join("|")).toBe(`Host|pod:${app.port}|X-A|1|x-a|2|Accept-Encoding|gzip|Connection|close`);
});

test("the first generations add the probe's own headers, its host too, and follow redirects to anywhere", async () => {
  const seen: string[] = [];
  await using app = await http((request, response) => {
    seen.push(`${request.headers.host} ${request.headers["x-a"]}`);
    response.writeHead(302, { location: "http://127.0.0.2:1/" }).end();
  });
  const httpHeaders = [
    { name: "X-A", value: "2" },
    { name: "Host", value: "named" },
  ];
  const prober = { httpGet: { port: app.port, httpHeaders } };
  for (const isLocal of [true, false]) {
    await using t = await startProbes(prober, { isLocal, target: { host: "127.0.0.1", localAddress: undefined } });
    // No one listens there: following is what fails.
    expect((await t.probe({ "X-A": "1", Host: "pod" })).status).toBe(isLocal ? 500 : 200);
  }
  expect(seen).toEqual(["named 1, 2", "pod 1"]);
});

test("header injection: what a parser would split is refused by one side or the other, never sent on", async () => {
  const urls: (string | undefined)[] = [];
  await using app = await http((request, response) => {
    urls.push(request.url);
    expect(request.headers.evil).toBeUndefined();
    response.end();
  });
  await using t = await startProbes({ httpGet: { port: app.port } });
  const answers: string[] = [];
  for (const line of ["X-A: a\rEvil: 1", "X-A: a\0b", "X-A : b", "Host: a b\r\nHost: c", "X-A: a\n Evil: 1"]) {
    await new Promise<void>((done) => {
      const socket = connect(t.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += String(chunk);
      });
      socket.on("close", () => {
        answers.push(text.split("\r\n")[0] ?? "");
        done();
      });
      socket.on("error", () => undefined);
      socket.write(`GET ${READYZ} HTTP/1.1\r\nHost: h\r\n${line}\r\nConnection: close\r\n\r\n`);
    });
  }
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 (400|500|200)/);
});

test.each([200, 201, 204, 400, 401, 404, 429, 500, 503, 511])("status %s is passed on", async (status) => {
  await using app = await http((_request, response) => void response.writeHead(status, { Location: "/" }).end());
  await using t = await startProbes({ httpGet: { port: app.port } });
  expect((await t.probe()).status).toBe(status);
});

test.each([
  { location: "", status: 200 },
  { location: "http://[::bad", status: 500 },
  { location: "ftp://127.0.0.1/x", status: 500 },
  { location: "ftp://elsewhere/x", status: 200 },
])("a redirect to '$location' is $status", async ({ location, status }) => {
  let asked = 0;
  await using app = await http((_request, response) => {
    asked++;
    response.writeHead(302, { Location: location }).end("x");
  });
  await using t = await startProbes({ httpGet: { port: app.port } });
  expect(await t.probe()).toMatchObject({ status, text: "" });
  expect(asked).toBe(1);
});

test.each<{ what: string; answer: RequestListener; text: string }>([
  {
    what: "breaks off",
    answer: (_request, response) => {
      response.setHeader("Content-Length", 100);
      response.write("half", () => response.destroy());
    },
    text: "half",
  },
  { what: "does not end in time", answer: (_request, response) => void response.write("half"), text: "half" },
  {
    what: "is not packed as it says",
    answer: (_request, response) => void response.setHeader("Content-Encoding", "gzip").end("plain"),
    text: "",
  },
])("a body that $what leaves the status as it is", async ({ answer, text }) => {
  await using app = await http(answer);
  await using t = await startProbes({ httpGet: { port: app.port }, timeoutSeconds: 3 });
  expect(await t.probe()).toMatchObject({ status: 200, text });
});

test.each([
  { what: "newlines alone", head: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok" },
  { what: "no reason", head: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok" },
  {
    what: "two lengths",
    head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
  },
  { what: "a large header", head: `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\nContent-Length: 2\r\n\r\nok` },
  { what: "nothing but a status", head: "HTTP/1.0 200 OK\n\nok" },
])("an application that answers with $what is healthy", async ({ head }) => {
  const app = createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(head));
  });
  const port = await listen(app);
  await using t = await startProbes({ httpGet: { port }, timeoutSeconds: 30 });
  expect(await t.probe()).toMatchObject({ status: 200, text: "ok" });
  await close(app);
});

test("redirects: the same host is followed, another one counts as success, ten are too many", async () => {
  const seen: (string | undefined)[] = [];
  await using app = await http((request, response) => {
    seen.push(`${request.url} ${request.headers.referer ?? "-"} ${request.headers.host}`);
    if (request.url === "/start") response.writeHead(302, { location: "/done" }).end();
    else if (request.url === "/away") response.writeHead(302, { location: "http://example.com/foo" }).end("x");
    else if (request.url === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else response.end("done");
  });
  const probe = async (path: string) => {
    await using t = await startProbes({ httpGet: { port: app.port, path } });
    const answer = await t.probe({ Host: "h" });
    return { status: answer.status, text: answer.text, log: t.log.texts().join() };
  };
  expect(await probe("/start")).toMatchObject({ status: 200, text: "done" });
  expect(seen).toEqual(["/start - h", `/done http://127.0.0.1:${app.port}/start h`]);
  expect(await probe("/away")).toMatchObject({ status: 200, text: "" });
  seen.length = 0;
  const looped = await probe("/loop");
  expect(looped.status).toBe(500);
  expect(looped.log).toContain(`stopped after 10 redirects, original URL path = ${READYZ}`);
  expect(seen).toHaveLength(10);
});

test("at most ten kilobytes of a body are passed on, also of one that never ends", async () => {
  await using app = await http((_request, response) => {
    const feed = setInterval(() => response.write("x".repeat(4000)), 1);
    response.on("close", () => clearInterval(feed));
  });
  await using t = await startProbes({ httpGet: { port: app.port }, timeoutSeconds: 30 });
  const answer = await t.probe();
  expect(answer.status).toBe(200);
  expect(answer.body).toHaveLength(10_240);
});

test("a silent port is a failure after the probe's time limit", async () => {
  const silent = createServer((socket) => socket.resume().on("error", () => undefined));
  const port = await listen(silent);
  await using t = await startProbes({ httpGet: { port }, timeoutSeconds: 1 });
  expect((await t.probe()).status).toBe(500);
  expect(t.log.texts().join()).toContain("Request to probe app failed: context deadline exceeded");
  await close(silent);
});

test("a refused connection, and a probe without port, are 500", async () => {
  const server = createServer();
  const port = await listen(server);
  await close(server);
  for (const prober of [
    { httpGet: { port } },
    { tcpSocket: { port } },
    { httpGet: {} },
    { tcpSocket: {} },
    { grpc: { port } },
  ]) {
    await using t = await startProbes(prober);
    expect((await t.probe()).status, JSON.stringify(prober)).toBe(500);
  }
});

test.each([
  { host: "127.0.0.1", bind: "127.0.0.1", status: 200 },
  { host: "localhost", bind: "127.0.0.1", status: 200 },
  { host: "", bind: "127.0.0.1", status: 200 },
  { host: "::1", bind: "::1", status: 200 },
  { host: "[::1]", bind: "::1", status: 500 },
])("TCP and HTTP to pod IP '$host'", async ({ host, bind, status }) => {
  const localAddress = bind === "::1" ? undefined : "127.0.0.6";
  await using app = await startHttpServer((_request, response) => void response.end(), bind);
  for (const prober of [{ tcpSocket: { port: app.port } }, { httpGet: { port: app.port } }]) {
    await using t = await startProbes({ ...prober, timeoutSeconds: 30 }, { target: { host, localAddress } });
    expect((await t.probe()).status).toBe(status);
  }
});

test("an unknown path is 400", async () => {
  await using t = await startProbes({ tcpSocket: { port: 1 } });
  expect(await t.probe({}, "GET", "/app-health/other/readyz")).toMatchObject({
    status: 400,
    text: "app prober config does not exists for /app-health/other/readyz",
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
});

test.each([
  { name: "no ALPN", alpn: undefined, http2: true, version: "1.1" },
  { name: "http/1.1", alpn: ["http/1.1"], http2: true, version: "1.1" },
  { name: "h2 and http/1.1", alpn: ["h2", "http/1.1"], http2: true, version: "2.0" },
  { name: "h2", alpn: ["h2"], http2: true, version: "2.0" },
  { name: "h2 not offered", alpn: ["h2", "http/1.1"], http2: false, version: "1.1" },
])("HTTPS, application speaks $name", async ({ alpn, http2, version }) => {
  const seen: string[] = [];
  const listener: RequestListener = (request, response) => {
    seen.push(
      `${request.httpVersion} ${request.headers["x-a"]} ${request.headers.host ?? request.headers[":authority"]}`,
    );
    response.writeHead(request.url === "/" ? 200 : 404);
    response.end("over tls");
  };
  const server = alpn?.includes("h2")
    ? createSecureServer({ ...selfSignedCertificate(), allowHTTP1: alpn.length > 1 }, listener as never)
    : createHttpsServer({ ...selfSignedCertificate(), ...(alpn && { ALPNProtocols: alpn }) }, listener);
  const port = await listen(server as unknown as Server);
  try {
    await using t = await startProbes({ httpGet: { port, scheme: "HTTPS" }, timeoutSeconds: 30 }, { http2 });
    expect(await t.probe({ "X-A": "1", Host: "h" })).toMatchObject({ status: 200, text: "over tls" });
    expect(seen).toEqual([`${version} 1 h`]);
  } finally {
    await close(server as unknown as Server);
  }
});

test.each([
  { name: "plain HTTP", start: (listener: RequestListener) => createHttpServer(listener), scheme: "HTTP" },
  {
    name: "HTTPS",
    start: (listener: RequestListener) => createHttpsServer(selfSignedCertificate(), listener),
    scheme: "HTTPS",
  },
  {
    name: "HTTP/2",
    start: (listener: RequestListener) => createSecureServer(selfSignedCertificate(), listener as never),
    scheme: "HTTPS",
  },
])("keep-alive over $name: one connection for all probes, a new one when the application closed it", async (way) => {
  const connections = createProbeConnections();
  const sockets = new Set<Socket>();
  const said = new Set<string | undefined>();
  const server = way.start((request, response) => {
    said.add(request.httpVersion === "2.0" ? "keep-alive" : request.headers.connection);
    response.end("fine");
  }) as unknown as Server;
  server.on("connection", (socket) => sockets.add(socket));
  const port = await listen(server);
  try {
    await using t = await startProbes({ httpGet: { port, scheme: way.scheme }, timeoutSeconds: 30 }, { connections });
    for (let round = 0; round < 3; round++) expect(await t.probe()).toMatchObject({ status: 200, text: "fine" });
    expect(sockets.size).toBe(1);
    expect([...said]).toEqual(["keep-alive"]);
    for (const socket of sockets) socket.destroy();
    expect(await t.probe()).toMatchObject({ status: 200, text: "fine" });
    expect(sockets.size).toBe(2);
  } finally {
    connections.close();
    // Waits for every connection: none may be left.
    await close(server);
  }
});

test("HTTPS with an application that speaks only another protocol is 500", async () => {
  const server = createHttpsServer({ ...selfSignedCertificate(), ALPNProtocols: ["foo"] }, () => undefined);
  const port = await listen(server);
  await using t = await startProbes({ httpGet: { port, scheme: "HTTPS" }, timeoutSeconds: 30 });
  expect((await t.probe()).status).toBe(500);
  await close(server);
});

test.each([
  { prober: { service: null }, status: 200 },
  { prober: { service: "up" }, status: 200 },
  { prober: { service: "down" }, status: 500 },
  { prober: { service: "odd" }, status: 500 },
])("gRPC $prober", async ({ prober, status }) => {
  const statuses: Record<string, number> = { "": 1, up: 1, down: 2 };
  let agent: unknown;
  const check = implement(HEALTH_CHECK, async ({ service = "" }, call) => {
    agent = call.metadata.get("user-agent");
    return { status: statuses[service] ?? 0 };
  });
  await using server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    methods: [check],
    log: silentLogger,
  });
  const port = Number(/:(\d+)$/.exec(addressText(server.address))?.[1]);
  await using t = await startProbes({ grpc: { port, ...prober } });
  expect((await t.probe({ "User-Agent": "kube-probe/1" })).status).toBe(status);
  expect(String(agent)).toContain("kube-probe/1");
});

test("gRPC without the health service is 500 and says so", async () => {
  await using server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    methods: [],
    log: silentLogger,
  });
  const port = Number(/:(\d+)$/.exec(addressText(server.address))?.[1]);
  await using t = await startProbes({ grpc: { port }, timeoutSeconds: 30 });
  expect((await t.probe()).status).toBe(500);
  expect(t.log.texts().join()).toContain(
    "server does not implement the grpc health protocol (grpc.health.v1.Health): rpc error: code = Unimplemented",
  );
});
