import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { selfSignedCertificate } from "../../test/support/certs/openssl-certificates.ts";
import { recordingLogger } from "../../test/support/envoy/life.ts";
import { startHttpServer } from "../../test/support/net/http-server.ts";
import { until } from "../../test/support/wait/until.ts";
import { silentLogger } from "../base/logger.ts";
import { HEALTH_CHECK } from "../grpc/client/check-health.ts";
import { implement } from "../grpc/server/server-types.ts";
import { type GrpcServer, startGrpcServer } from "../grpc/server/start-grpc-server.ts";
import { GrpcError } from "../grpc/status.ts";
import { addressText } from "../net/listen/listen.ts";
import { HEALTH_RULES } from "./core/generations.ts";
import { readHealthConfig } from "./core/health-config.ts";
import type { HealthEvent } from "./core/health-state.ts";
import { type HealthCheckerOptions, startHealthChecker } from "./start-health-checker.ts";

type Probe = Parameters<typeof readHealthConfig>[0];

function start(probe: Probe, overrides: Partial<HealthCheckerOptions> = {}) {
  const events: HealthEvent[] = [];
  const log = recordingLogger();
  const config = { ...readHealthConfig(probe, "127.0.0.1"), periodMs: 20, timeoutMs: 30_000, ...overrides.config };
  const checker = startHealthChecker({
    source: { localAddress: "127.0.0.6", isOwnAddress: () => true },
    report: (event) => void events.push(event),
    log,
    ...overrides,
    config,
  });
  return { events, log, checker, [Symbol.asyncDispose]: () => checker.stop() };
}
const first = async (probe: Probe, overrides?: Partial<HealthCheckerOptions>): Promise<HealthEvent | undefined> => {
  await using t = start(probe, overrides);
  await until("an event", () => t.events.length > 0);
  return t.events[0];
};

async function listenTcp(port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((ready) => server.listen(port, "127.0.0.1", ready));
  return server;
}
const close = (server: Server) => new Promise<void>((closed) => server.close(() => closed()));
const grpcPort = (server: GrpcServer) => Number(/:(\d+)$/.exec(addressText(server.address))?.[1]);
const portOf = (server: Server) => (server.address() as { port: number }).port;

test("a TCP target that closes, opens and closes is reported three times", async () => {
  const reserved = await listenTcp(0);
  const port = portOf(reserved);
  await close(reserved);
  await using t = start({ tcpSocket: { port } });
  await until("unhealthy", () => t.events.length === 1);
  const open = await listenTcp(port);
  await until("healthy", () => t.events.length === 2);
  await close(open);
  await until("unhealthy again", () => t.events.length === 3);
  const refused = { healthy: false, message: `dial tcp 127.0.0.1:${port}: connect: connection refused` };
  // A probe that had not been accepted when the listener closed is reset.
  const closed = { healthy: false, message: expect.stringMatching(/: connect: connection (refused|reset by peer)$/) };
  expect(t.events).toEqual([refused, { healthy: true }, closed]);
  expect(t.log.texts()[0]).toBe("info starting health check for health.AggregateProber in 0s");
  expect(t.log.texts()).toContain("info success threshold hit, marking as healthy");
});

test.each([
  { answer: 200, want: { healthy: true } },
  { answer: 399, want: { healthy: true } },
  { answer: 500, want: { healthy: false, message: "status code was not from [200,400), bad code 500" } },
])("HTTP $answer", async ({ answer, want }) => {
  const seen: string[][] = [];
  await using server = await startHttpServer((request, response) => {
    seen.push(request.rawHeaders);
    expect(request.socket.remoteAddress).toBe("127.0.0.6");
    response.writeHead(answer).end();
  });
  const httpHeaders = [
    { name: "X-A", value: "1" },
    { name: "X-A", value: "2" },
    { name: "Host", value: "named" },
  ];
  expect(await first({ httpGet: { port: server.port, path: "/h?q=1", httpHeaders } })).toEqual(want);
  expect(seen[0]?.join(" ")).toBe(
    "Host named X-A 1 X-A 2 User-Agent istio-probe/1.0 Accept-Encoding gzip Connection close",
  );
});

test("redirects are followed; a remote target is asked from an ordinary address", async () => {
  await using server = await startHttpServer((request, response) => {
    expect(request.socket.remoteAddress).toBe("127.0.0.1");
    if (request.url === "/there") response.end();
    else response.writeHead(302, { location: "/there" }).end();
  });
  const source = { localAddress: "127.0.0.6", isOwnAddress: () => false };
  expect(await first({ httpGet: { port: server.port } }, { source })).toEqual({ healthy: true });
});

test.each([
  { redirects: 9, want: { healthy: true } },
  { redirects: 10, want: { healthy: false, message: expect.stringContaining("stopped after 10 redirects") } },
])("$redirects redirects", async ({ redirects, want }) => {
  let asked = 0;
  await using app = await startHttpServer((request, response) => {
    asked++;
    const hop = Number(request.url?.slice(1));
    response.writeHead(hop < redirects ? 302 : 200, hop < redirects ? { Location: `/${hop + 1}` } : {}).end();
  });
  const probe = { httpGet: { port: app.port, path: "/0" }, periodSeconds: 100 };
  const config = { ...readHealthConfig(probe, "127.0.0.1"), timeoutMs: 30_000 };
  expect(await first(probe, { config })).toEqual(want);
  expect(asked).toBe(10);
});

test("a redirect to something that is not HTTP is not an answer", async () => {
  await using app = await startHttpServer((_request, response) => {
    response.writeHead(302, { Location: "ftp://127.0.0.1/" }).end();
  });
  expect(await first({ httpGet: { port: app.port } })).toMatchObject({
    healthy: false,
    message: expect.stringContaining('unsupported protocol scheme "ftp"'),
  });
});

test("a workload that switches protocols is unhealthy, and looked at again", async () => {
  let looks = 0;
  const server = createServer((socket) => {
    looks++;
    socket.on("error", () => undefined).resume();
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  {
    await using t = start({ httpGet: { port: portOf(server) } });
    await until("three looks", () => looks > 2);
    expect(t.events).toEqual([{ healthy: false, message: expect.stringContaining("EOF") }]);
  }
  await close(server);
});

test.each([
  { localAddress: "127.0.0.6", host: "127.0.0.1", bind: "127.0.0.1" },
  { localAddress: "127.0.0.6", host: "localhost", bind: "127.0.0.1" },
  { localAddress: "127.0.0.6", host: "::1", bind: "::1" },
  { localAddress: "::1", host: "127.0.0.1", bind: "127.0.0.1" },
])("an HTTP workload on $host is reached, whatever the family of the source address $localAddress", async (row) => {
  await using app = await startHttpServer((_request, response) => void response.end(), row.bind);
  const source = { localAddress: row.localAddress, isOwnAddress: () => true };
  expect(await first({ httpGet: { port: app.port, host: row.host } }, { source })).toEqual({ healthy: true });
});

test("HTTPS with an unknown certificate is fine", async () => {
  const server = createHttpsServer(selfSignedCertificate(), (_request, response) => void response.end());
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    expect(await first({ httpGet: { port: portOf(server), scheme: "HTTPS" } })).toEqual({ healthy: true });
  } finally {
    server.closeAllConnections();
    await close(server);
  }
});

test.each([
  { what: "a workload that closes without a word", scheme: "HTTP", says: "", want: "EOF" },
  {
    what: "one that does not speak TLS",
    scheme: "HTTPS",
    says: "HTTP/1.1 400 Bad Request\r\n\r\n",
    want: "http: server gave HTTP response to HTTPS client",
  },
  // An alert: handshake failure.
  {
    what: "one that refuses the handshake",
    scheme: "HTTPS",
    says: "\x15\x03\x03\x00\x02\x02\x28",
    want: /^tls: [a-z0-9 ]+$/,
  },
])("$what is reported in words that stay the same", async ({ scheme, says, want }) => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.from(says, "latin1")));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const event = await first({ httpGet: { host: "127.0.0.1", port: portOf(server), scheme } });
  const url = `${scheme.toLowerCase()}://127.0.0.1:${portOf(server)}/`;
  expect(event).toMatchObject({ healthy: false, message: expect.stringContaining(`Get "${url}": `) });
  const text = event?.healthy === false ? event.message.slice(`Get "${url}": `.length) : "";
  if (typeof want === "string") expect(text).toBe(want);
  else expect(text).toMatch(want);
  await close(server);
});

test("a name that cannot be one is reported as such", async () => {
  const host = `${"x".repeat(64)}.invalid`; // too long a label: no resolver is asked
  const event = await first({ httpGet: { host, port: 80 } });
  expect(event).toEqual({
    healthy: false,
    message: `Get "http://${host}:80/": dial tcp: lookup ${host}: no such host`,
  });
});

test("a port that accepts and stays silent is unhealthy after the time limit", async () => {
  const server = createServer((socket) => socket.resume());
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const probe = { httpGet: { port: portOf(server) } };
  const event = await first(probe, { config: { ...readHealthConfig(probe, "127.0.0.1"), timeoutMs: 50 } });
  expect(event).toMatchObject({ healthy: false, message: expect.stringContaining("context deadline exceeded") });
  await close(server);
});

test.each([
  { command: ["true"], want: { healthy: true } },
  { command: ["false"], want: { healthy: false, message: "exit status 1" } },
  {
    command: ["sleep", "60"],
    timeoutMs: 300,
    want: { healthy: false, message: "command timeout exceeded: signal: killed" },
  },
  {
    command: ["/no/such/program"],
    want: { healthy: false, message: "fork/exec /no/such/program: no such file or directory" },
  },
  {
    command: ["no-such-program"],
    want: { healthy: false, message: 'exec: "no-such-program": executable file not found in $PATH' },
  },
  { command: ["/"], want: { healthy: false, message: "fork/exec /: permission denied" } },
  { command: ["sh", "-c", "kill -TERM $$"], want: { healthy: false, message: "signal: terminated" } },
  { command: ["sh", "-c", "kill -USR2 $$"], want: { healthy: false, message: "signal: user defined signal 2" } },
])("exec $command", async ({ command, timeoutMs = 30_000, want }) => {
  const config = { ...readHealthConfig({ exec: { command } }, "x"), timeoutMs };
  expect(await first({ exec: { command } }, { config })).toEqual(want);
});

test("a command that is too slow is killed with everything it has started", async () => {
  const folder = mkdtempSync(join(tmpdir(), "probe-"));
  const file = join(folder, "pid");
  const command = ["sh", "-c", `sleep 60 & echo $! > ${file}; wait`];
  const config = { ...readHealthConfig({ exec: { command } }, "x"), timeoutMs: 5000, periodMs: 60_000 };
  expect(await first({ exec: { command } }, { config })).toMatchObject({ healthy: false });
  const pid = readFileSync(file, "utf8").trim();
  expect(pid).toMatch(/^\d+$/);
  // A process that is gone for good, or waits for someone to ask how it ended.
  await until("its end", () => !existsSync(`/proc/${pid}`) || / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
  rmSync(folder, { recursive: true });
});

test.each([
  { service: "up", want: { healthy: true } },
  { service: "down", want: { healthy: false, message: "grpc status NOT_SERVING" } },
  { service: "odd", want: { healthy: false, message: "grpc status UNKNOWN" } },
  {
    service: "none",
    want: {
      healthy: false,
      message: "health rpc probe failed with status NotFound: rpc error: code = NotFound desc = unknown service",
    },
  },
])("gRPC service $service", async ({ service, want }) => {
  const statuses: Record<string, number> = { up: 1, down: 2, odd: 0 };
  const check = implement(HEALTH_CHECK, async (request) => {
    const status = statuses[request.service ?? ""];
    if (status === undefined) throw new GrpcError("NOT_FOUND", "unknown service");
    return { status };
  });
  await using server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    methods: [check],
    log: silentLogger,
  });
  expect(await first({ grpc: { port: grpcPort(server), service } })).toEqual(want);
});

test("gRPC servers without the health service, and none at all, say so", async () => {
  await using server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    methods: [],
    log: silentLogger,
  });
  const port = grpcPort(server);
  expect(await first({ grpc: { port } })).toMatchObject({
    message: expect.stringContaining(
      `service on port ${port} doesn't implement the grpc health protocol grpc.health.v1.Health`,
    ),
  });
  await server.stop();
  // Connecting is tried again until the time is over.
  const config = { ...readHealthConfig({ grpc: { port } }, "127.0.0.1"), timeoutMs: 1000 };
  expect(await first({ grpc: { port } }, { config })).toMatchObject({
    message: `failed to connect health check grpc service on port ${port}: context deadline exceeded`,
  });
});

test("Envoy is asked first: silence until it was ready once, and its failures count afterwards", async () => {
  let why: string | undefined = "admin refused";
  let looks = 0;
  const envoy = async () => {
    looks++;
    return why;
  };
  await using t = start({ exec: { command: ["true"] } }, { envoy });
  await until("some looks", () => looks > 2);
  expect(t.events).toEqual([]);
  why = undefined;
  await until("healthy", () => t.events.length === 1);
  why = "gone";
  await until("unhealthy", () => t.events.length === 2);
  expect(t.events).toEqual([{ healthy: true }, { healthy: false, message: "gone" }]);
});

test.each([
  { what: "a command that is too long for the system", command: ["true", "x".repeat(3_000_000)] },
  { what: "a command with a byte that no command can have", command: ["true", "\0"] },
])("$what is unhealthy, and looked at again", async ({ command }) => {
  let looks = 0;
  const envoy = async () => void looks++;
  await using t = start({ exec: { command } }, { envoy });
  await until("three looks", () => looks > 2);
  expect(t.events).toEqual([{ healthy: false, message: expect.stringMatching(/argument list too long|null bytes/) }]);
});

test("an Envoy that cannot be asked is not ready, and is asked again", async () => {
  let looks = 0;
  const envoy = async () => {
    if (++looks > 1) throw new Error("no admin port");
    return undefined;
  };
  await using t = start({ exec: { command: ["true"] } }, { envoy });
  await until("three looks", () => looks > 2);
  expect(t.events).toEqual([{ healthy: true }, { healthy: false, message: "no admin port" }]);
});

test.each([{ initialDelaySeconds: 2 ** 31 - 1 }, { periodSeconds: 2 ** 31 - 1 }])(
  "times beyond those of timers (%o) do not make looks without a pause",
  async (times) => {
    let looks = 0;
    const envoy = async () => void looks++;
    const probe = { exec: { command: ["true"] }, ...times };
    await using t = start(probe, { envoy, config: readHealthConfig(probe, "x") });
    if ("periodSeconds" in times) await until("a look", () => t.events.length > 0);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(looks).toBe("periodSeconds" in times ? 1 : 0);
  },
);

test("1.8 does not ask Envoy, and reports nothing until the workload was healthy once", async () => {
  const answers = [500, 500, 200, 500];
  let asked = 0;
  await using server = await startHttpServer((_request, response) => {
    response.writeHead(answers[Math.min(asked++, answers.length - 1)] ?? 500).end();
  });
  const envoy = async () => "Envoy is not there";
  await using t = start({ httpGet: { port: server.port } }, { envoy, rules: HEALTH_RULES["1.8"] });
  await until("two events", () => t.events.length === 2);
  expect(t.events.map(({ healthy }) => healthy)).toEqual([true, false]);
  expect(asked).toBeGreaterThanOrEqual(4);
});

test("1.8 looks for the first time one period after the initial delay", async () => {
  const probe = { exec: { command: ["true"] } };
  const config = { ...readHealthConfig(probe, "x"), periodMs: 150 };
  const startedAt = performance.now();
  expect(await first(probe, { config, rules: HEALTH_RULES["1.8"] })).toEqual({ healthy: true });
  // Timers of Node may fire a millisecond early; a machine that stands still only adds to it.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(148);
});

test("stopping during the initial delay and during a look is prompt and leaves no child", async () => {
  const waiting = start({ exec: { command: ["true"] }, initialDelaySeconds: 3600 });
  await waiting.checker.stop();
  const probe = { exec: { command: ["sleep", "30"] } };
  const looking = start(probe, { config: { ...readHealthConfig(probe, "x"), timeoutMs: 60_000 } });
  await until("the child", () => children().length > 0);
  await looking.checker.stop();
  await looking.checker.stop();
  expect(looking.events).toEqual([]);
  await until("no child", () => children().length === 0);
});

function children(): string[] {
  return readFileSync(`/proc/self/task/${process.pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("sleep");
      } catch {
        return false;
      }
    });
}
