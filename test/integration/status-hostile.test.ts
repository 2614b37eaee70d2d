import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { wait } from "../../src/base/wait.ts";
import { checkHealth, HEALTH_CHECK } from "../../src/grpc/client/check-health.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { addressText } from "../../src/net/listen/listen.ts";
import { readAppProbers } from "../../src/status/core/app-probers.ts";
import { STATUS_RULES } from "../../src/status/core/generations.ts";
import { createAppProbeHandler } from "../../src/status/probes/app-probe-handler.ts";
import { createProbeConnections } from "../../src/status/probes/probe-connections.ts";
import { selfSignedCertificate } from "../support/certs/openssl-certificates.ts";
import { recordingLogger } from "../support/envoy/life.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { fetchBytes, startScrape } from "../support/status/scrape.ts";
import { startTestStatusServer } from "../support/status/server.ts";
import { until } from "../support/wait/until.ts";

const READYZ = "/app-health/app/readyz";

async function startProbes(prober: object, withConnections = false) {
  await using opened = new CloseStack();
  const log = recordingLogger();
  const server = opened.add(await startTestStatusServer(log));
  const connections = withConnections ? opened.add(createProbeConnections()) : undefined;
  const handler = createAppProbeHandler({
    probers: readAppProbers({ [READYZ]: prober }, STATUS_RULES.master.probers),
    target: { host: "127.0.0.1", localAddress: "127.0.0.6" },
    statusPort: 15020,
    http2: true,
    relaysBody: true,
    isLocal: false,
    log,
    ...(connections && { connections }),
  });
  server.route("*", "/app-health/", handler);
  const owned = opened.move();
  return {
    port: server.port,
    log,
    probe: (headers: Record<string, string> = {}) => fetchBytes(server.port, READYZ, headers),
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

/** A server whose connections are all closed with it. */
async function serve(server: Server): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    port: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Sends bytes to whoever connects, then does what `after` says. */
const answering = (bytes: string | Buffer, after: (socket: Socket) => void) =>
  serve(
    createServer((socket) => {
      socket.once("data", () => socket.write(bytes, () => after(socket)));
    }),
  );

const STAY = () => undefined;
const END = (socket: Socket) => void socket.end();
const PACKED = gzipSync(Buffer.from("all is well\n".repeat(100)));
const packedHead = (length: number) => `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${length}\r\n\r\n`;

test("no byte in a request's path ends the server", async () => {
  await using server = await startTestStatusServer(recordingLogger());
  for (let byte = 1; byte < 256; byte++) {
    const answer = await new Promise<string>((resolve) => {
      let text = "";
      const socket = connect(server.port, "127.0.0.1", () => {
        const head = Buffer.from("GET //x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        head[6] = byte;
        socket.write(head);
      });
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
      });
      socket.on("error", () => resolve(text));
      socket.on("close", () => resolve(text));
    });
    expect(answer, `byte ${byte}`).toMatch(/^HTTP\/1\.1 (307|400|404|431)/);
  }
  expect(await fetchBytes(server.port, "/healthz/ready")).toMatchObject({ status: 200 });
});

test.each([
  {
    what: "switches protocols",
    bytes: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    after: STAY,
  },
  {
    what: "has a status that no answer may have",
    bytes: "HTTP/1.1 042 What\r\nContent-Length: 0\r\n\r\n",
    after: STAY,
  },
  { what: "sends junk", bytes: "\0\0\0\0\0\0\0", after: END },
])("an application that $what is a failed probe, reported in time", async ({ bytes, after }) => {
  await using application = await answering(bytes, after);
  await using probes = await startProbes({ httpGet: { port: application.port }, timeoutSeconds: 1 });
  expect(await probes.probe()).toMatchObject({ status: 500, text: "" });
  expect(probes.log.text()).toContain("Request to probe app failed");
});

test.each([
  {
    what: "breaks off in a packed body",
    bytes: Buffer.concat([Buffer.from(packedHead(10_000)), PACKED.subarray(0, 20)]),
    after: END,
  },
  {
    what: "falls silent in a packed body",
    bytes: Buffer.concat([Buffer.from(packedHead(10_000)), PACKED.subarray(0, 20)]),
    after: STAY,
  },
  { what: "says packed and is not", bytes: `${packedHead(5)}plain`, after: STAY },
])("an application that $what keeps its status, reported in time", async ({ bytes, after }) => {
  await using application = await answering(bytes, after);
  await using probes = await startProbes({ httpGet: { port: application.port }, timeoutSeconds: 3 });
  expect(await probes.probe()).toMatchObject({ status: 200 });
});

test.each(["HTTP", "HTTPS"])("a probe without port asks no one, also not the usual port of %s", async (scheme) => {
  await using probes = await startProbes({ httpGet: { scheme } });
  expect(await probes.probe()).toMatchObject({ status: 500 });
  expect(probes.log.text()).toContain("dial tcp 127.0.0.1:0: connect: connection refused");
});

test.each([false, true])(
  "over HTTP/2 a stream that ends in silence is a failed probe (reused connections: %s)",
  async (kept) => {
    const { key, cert } = selfSignedCertificate();
    const secure = createSecureServer({ key, cert });
    const ways = [
      (stream: ServerHttp2Stream) => stream.close(0),
      (stream: ServerHttp2Stream) => stream.session?.close(),
      (stream: ServerHttp2Stream) => stream.session?.destroy(),
    ];
    secure.on("stream", (stream) => {
      stream.on("error", () => undefined);
      ways.shift()?.(stream);
      stream.close(0);
    });
    await using application = await serve(secure);
    await using probes = await startProbes(
      { httpGet: { port: application.port, scheme: "HTTPS" }, timeoutSeconds: 2 },
      kept,
    );
    for (let round = 0; round < 3; round++) expect(await probes.probe()).toMatchObject({ status: 500 });
  },
);

test("headers that HTTP/2 refuses fail the probe and leave no connection behind", async () => {
  const { key, cert } = selfSignedCertificate();
  const secure = createSecureServer({ key, cert });
  let open = 0;
  secure.on("secureConnection", (socket) => {
    open++;
    socket.on("close", () => open--);
  });
  await using application = await serve(secure);
  await using probes = await startProbes({ httpGet: { port: application.port, scheme: "HTTPS" }, timeoutSeconds: 2 });
  const answer = await new Promise<string>((resolve, reject) => {
    let text = "";
    const socket = connect(probes.port, "127.0.0.1", () => {
      const twice = "X-Forwarded-Host: a\r\nAuthorization: a\r\nAuthorization: b\r\n";
      socket.write(`GET ${READYZ} HTTP/1.1\r\nHost: a\r\n${twice}Connection: close\r\n\r\n`);
    });
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 500/);
  await until("the connection is closed", () => open === 0);
});

test("a TLS handshake that does not end is given up after ten seconds, also without a limit", async () => {
  const taken: Socket[] = [];
  await using application = await serve(createServer((socket) => void taken.push(socket)));
  await using probes = await startProbes({ httpGet: { port: application.port, scheme: "HTTPS" } });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const answer = probes.probe();
    while (taken.length === 0 || vi.getTimerCount() < 2) await new Promise(setImmediate);
    vi.advanceTimersByTime(10_000);
    expect(await answer).toMatchObject({ status: 500 });
  } finally {
    vi.useRealTimers();
  }
  expect(probes.log.text()).toContain("TLS handshake timeout");
});

test("a gRPC probe may have more time than node's timers can hold", async () => {
  const check = implement(HEALTH_CHECK, async () => ({ status: 1 }));
  await using server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    methods: [check],
    log: silentLogger,
  });
  const address = addressText(server.address);
  const status = await checkHealth(address, {
    service: "",
    timeoutMs: 2 ** 31 * 1000,
    // Slower than a timer that fires at once.
    connect: async () => {
      await wait(30);
      return connect(Number(address.split(":").at(-1)), "127.0.0.1");
    },
  });
  expect(status).toBe("SERVING");
});

test.each([
  { path: "/all is well", asked: "/all%20is%20well" },
  { path: "/\u00fc/\u2603?q=\u00fc", asked: "/%C3%BC/%E2%98%83?q=%C3%BC" },
  { path: "/escaped%20already#here", asked: "/escaped%20already" },
  { path: "/\ud800", asked: "/%EF%BF%BD" },
])("a probe of $path asks for $asked", async ({ path, asked }) => {
  await using application = await startHttpServer((request, response) => void response.end(request.url));
  await using probes = await startProbes({ httpGet: { port: application.port, path }, timeoutSeconds: 30 });
  expect(await probes.probe()).toMatchObject({ status: 200, text: asked });
});

test("a reused TLS connection gathers nothing from probe to probe", async () => {
  const { key, cert } = selfSignedCertificate();
  const secure = createHttpsServer({ key, cert }, (_request, response) => void response.end("well"));
  let connections = 0;
  secure.on("secureConnection", () => connections++);
  await using application = await serve(secure);
  await using probes = await startProbes(
    { httpGet: { port: application.port, scheme: "HTTPS" }, timeoutSeconds: 30 },
    true,
  );
  const warnings: string[] = [];
  const note = (warning: Error) => void warnings.push(warning.message);
  process.on("warning", note);
  for (let round = 0; round < 30; round++) expect(await probes.probe()).toMatchObject({ status: 200, text: "well" });
  await new Promise(setImmediate);
  process.off("warning", note);
  expect(connections).toBe(1);
  expect(warnings).toEqual([]);
});

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
test.each([
  { what: "switches protocols", bytes: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" },
  { what: "says nothing but to go on", bytes: "HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000) },
  { what: "has a head without end", bytes: `${HEAD}X: ${"x".repeat(1_000_000)}` },
  { what: "has a negative length", bytes: `${HEAD}Content-Length: -1\r\n\r\nmine 1\n` },
  { what: "has chunks of no size", bytes: `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\nmine 1\n` },
  { what: "says packed and is not", bytes: `${HEAD}Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\nmine 1\n` },
  {
    what: "redirects to itself without a host",
    bytes: "HTTP/1.1 302 Found\r\nLocation: http://\r\nContent-Length: 0\r\n\r\n",
  },
  {
    what: "redirects to a port that is none",
    bytes: "HTTP/1.1 302 Found\r\nLocation: http://localhost:0/\r\nContent-Length: 0\r\n\r\n",
  },
  { what: "sends its request back", bytes: "GET /metrics HTTP/1.1\r\n\r\n" },
])("a scraped application that $what is left out, and counted", async ({ bytes }) => {
  await using application = await answering(bytes, STAY);
  await using t = await startScrape({
    envoy: "# TYPE envoy counter\nenvoy 1\n",
    options: { targets: [{ port: application.port, path: "/metrics" }] },
  });
  const { status, text } = await t.scrape({ "X-Prometheus-Scrape-Timeout-Seconds": "2" });
  expect(status).toBe(200);
  expect(text).toContain("\nenvoy 1\n");
  expect(text).not.toContain("mine");
  expect(t.own('istio_agent_scrape_failures_total{type="application"}')).toBe("1");
});
