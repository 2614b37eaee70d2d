import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { gunzipSync } from "node:zlib";
import { beforeEach, expect, test } from "vitest";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { expectPromtoolAccepts, parseStrictly } from "../test/support/status/document.ts";
import { fetchBytes } from "../test/support/status/scrape.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy", "promtool"));

const APP = `# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{code="200",path="/a b"} 3
# TYPE process_open_fds gauge
process_open_fds 42
# TYPE latency_seconds histogram
latency_seconds_bucket{le="0.1"} 1
latency_seconds_bucket{le="+Inf"} 2
latency_seconds_sum 0.5
latency_seconds_count 2
`;

async function listenSilently(): Promise<Server & AsyncDisposable> {
  const server = createTcpServer((socket) => socket.resume());
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return Object.assign(server, {
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => server.close(() => closed())),
  });
}

test("one scrape returns Envoy's, the application's and the agent's metrics; probes reach the application", async () => {
  await using app = await startHttpServer((request, response) => {
    if (request.url === "/metrics") return void response.end(APP);
    response.writeHead(request.url === "/live" ? 200 : 404).end(`${request.headers["x-probe"] ?? ""}\n`);
  });
  const silent = await listenSilently();
  const { port: silentPort } = silent.address() as { port: number };
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ scrape: "true", path: "/metrics", port: String(app.port) }),
      ISTIO_KUBE_APP_PROBERS: JSON.stringify({
        "/app-health/app/livez": { httpGet: { path: "/live", port: app.port }, timeoutSeconds: 30 },
        "/app-health/app/readyz": { tcpSocket: { port: app.port }, timeoutSeconds: 30 },
        "/app-health/app/startupz": { httpGet: { path: "/", port: silentPort }, timeoutSeconds: 1 },
      }),
    },
  });
  await agent.untilReady();
  const { status } = agent.ports;
  // The first certificate may come after readiness: no listener here needs it.
  await until(async () => /sa\/app/.test((await agent.get("status", "/debug/certs")).body) || "no certificate yet");

  const scraped = await fetchBytes(status, "/stats/prometheus");
  const { families, series } = parseStrictly(scraped.text, "text");
  await expectPromtoolAccepts(scraped.text);
  expect(series.get("process_open_fds")).toBe("42");
  expect(series.get('http_requests_total{code="200",path="/a b"}')).toBe("3");
  for (const name of [
    "envoy_server_live",
    "istio_agent_scrapes_total",
    "istio_agent_startup_duration_seconds",
    "process_cpu_seconds_total",
    "nodejs_eventloop_lag_seconds",
    "istio_agent_cert_expiry_seconds",
  ])
    expect([...families.keys()], name).toContain(name);

  const live = await fetchBytes(status, "/app-health/app/livez", { "X-Probe": "kubelet" });
  expect(live).toMatchObject({ status: 200, text: "kubelet\n" });
  expect((await fetchBytes(status, "/app-health/app/readyz")).status).toBe(200);
  expect((await fetchBytes(status, "/app-health/app/startupz")).status).toBe(500);
  expect((await fetchBytes(status, "/app-health/other/livez")).status).toBe(400);

  const changed = await fetchBytes(status, "/debug/logging?level=dns:debug", {}, "POST");
  expect(JSON.parse(changed.text)).toMatchObject({ dns: "debug", default: "info" });
  for (const page of ["heap", "profile?seconds=0.2"]) {
    const answer = await fetchBytes(status, `/debug/pprof/${page}`);
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining("PROFILING_SOCKET=") });
  }
  expect((await fetchBytes(status, "/debug/pprof/cmdline")).text).toContain("proxy\0sidecar");
  await silent[Symbol.asyncDispose]();
});

test("profiles, which have the key in them, are on a socket that its owner alone can open", async () => {
  const folder = mkdtempSync(join(tmpdir(), "profiles-"));
  const socketPath = join(folder, "socket");
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, env: { PROFILING_SOCKET: socketPath } });
  await agent.untilReady();
  expect(statSync(socketPath).mode & 0o777).toBe(0o600);
  const onPort = await fetchBytes(agent.ports.status, "/debug/pprof/heap");
  expect(onPort).toMatchObject({ status: 403, text: expect.stringContaining(`--unix-socket ${socketPath}`) });
  const ask = (path: string) =>
    new Promise<string>((resolve, reject) => {
      requestPlain({ socketPath, path, agent: false }, (response) => resolve(readText(response)))
        .on("error", reject)
        .end();
    });
  const profile = JSON.parse(await ask("/debug/pprof/profile?seconds=0.2"));
  expect(profile.nodes.length).toBeGreaterThan(1);
  expect(await ask("/debug/pprof/heap")).toMatch(/^\{"snapshot":\{"meta"/);
  rmSync(folder, { recursive: true });
});

test.each([
  {
    env: { ISTIO_KUBE_APP_PROBERS: '{"/app-health/a/livez":{"httpGet":{"port":"http"}}}' },
    says: "invalid prober config for /app-health/a/livez, the port must be int type",
  },
  {
    env: { ISTIO_KUBE_APP_PROBERS: '{"/app-health/a/livez":null}' },
    says: "cannot unmarshal null into Go struct field /app-health/a/livez",
  },
  {
    env: { ISTIO_PROMETHEUS_ANNOTATIONS: '{"port":"15090"}' },
    says: "target port 15090 is reserved for Istio (Envoy Prometheus (already merged)) and cannot be scraped",
  },
])("wrong settings end the start with their reason: $says", async ({ env, says }) => {
  await using agent = await startAgentProcess({ env });
  expect(await agent.exited).toBe(255);
  expect(agent.stdout() + agent.stderr()).toContain(says);
});

test("with an application that speaks OpenMetrics the real Envoy's statistics do so too", async () => {
  await using app = await startHttpServer((request, response) => {
    expect(request.headers.accept).toContain("application/openmetrics-text");
    response.setHeader("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.end('# TYPE jobs counter\njobs_total{a="b"} 1 # {trace_id="x"} 1\n# EOF\n');
  });
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(app.port) }) },
  });
  await agent.untilReady();
  const accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
  const scraped = await fetchBytes(agent.ports.status, "/metrics", { accept, "accept-encoding": "gzip" });
  const { families, series } = parseStrictly(gunzipSync(scraped.body).toString(), "openmetrics");
  expect(series.get('jobs_total{a="b"}')).toBe("1");
  expect(families.get("istio_agent_scrapes")).toBe("counter");
  expect([...families.keys()].filter((name) => name.startsWith("envoy_")).length).toBeGreaterThan(20);
});

test("an Envoy that is frozen is not ready any more, and is again when it goes on", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  const [envoy = 0] = await agent.envoyPids();
  process.kill(envoy, "SIGSTOP");
  try {
    await until(async () => ((await agent.get("status", "/healthz/ready")).status === 503 ? undefined : "still ready"));
    expect((await agent.get("status", "/healthz/ready")).body).toMatch(/Envoy does not answer/);
  } finally {
    process.kill(envoy, "SIGCONT");
  }
  await agent.untilReady();
});

test("the merged metrics have a port with mutual TLS, which no one without a certificate of the mesh gets through", async () => {
  await using app = await startHttpServer((_request, response) => void response.end(APP));
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const [port = 0] = await freePorts(1);
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      ENVOY_SECURE_MERGED_METRICS_PORT: String(port),
      ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(app.port) }),
      OUTPUT_CERTS: "certs",
    },
  });
  await agent.untilReady();
  const file = (name: string) => readFileSync(join(agent.folder, "certs", name), "utf8");
  const identity = { cert: file("cert-chain.pem"), key: file("key.pem") };
  const scrape = (client: Partial<typeof identity>) =>
    new Promise<{ readonly text: string; readonly subject: string }>((done, fail) => {
      const options = { host: "127.0.0.1", port, path: "/metrics", agent: false, ca: file("root-cert.pem"), ...client };
      // The server's name is its SPIFFE id, which is checked below.
      const sent = requestTls({ ...options, checkServerIdentity: () => undefined }, async (response) => {
        const { subjectaltname = "" } = (response.socket as TLSSocket).getPeerCertificate();
        done({ text: await readText(response), subject: subjectaltname });
      });
      sent.on("error", fail).end();
    });
  await until(async () => {
    const { text, subject } = await scrape(identity);
    expect(subject).toBe("URI:spiffe://cluster.local/ns/ns/sa/app");
    const { families } = parseStrictly(text, "text");
    await expectPromtoolAccepts(text);
    for (const name of ["envoy_server_live", "http_requests_total", "istio_agent_scrapes_total"])
      expect([...families.keys()]).toContain(name);
    return undefined;
  });
  await expect(scrape({})).rejects.toThrow();
});

test("an Envoy that is killed during a scrape leaves a valid document with the others' metrics", async () => {
  const answers: (() => void)[] = [];
  await using app = await startHttpServer((_request, response) => {
    answers.push(() => void response.end(APP));
  });
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(app.port) }), ENVOY_RESTART_ON_CRASH: "true" },
  });
  await agent.untilReady();
  const [envoy = 0] = await agent.envoyPids();
  // Stopped, it accepts the scrape and says nothing until it is gone.
  process.kill(envoy, "SIGSTOP");
  const scraped = fetchBytes(agent.ports.status, "/stats/prometheus");
  await until(async () => (answers.length < 1 ? "the application was not asked" : undefined));
  process.kill(envoy, "SIGKILL");
  answers[0]?.();
  const { status, text } = await scraped;
  expect(status).toBe(200);
  const { families } = parseStrictly(text, "text");
  await expectPromtoolAccepts(text);
  expect([...families.keys()]).toContain("http_requests_total");
  expect([...families.keys()]).not.toContain("envoy_server_live");
  const next = fetchBytes(agent.ports.status, "/stats/prometheus");
  await until(async () => (answers.length < 2 ? "the application was not asked again" : undefined));
  answers[1]?.();
  expect((await next).text).toMatch(/^istio_agent_scrape_failures_total\{type="envoy"\} [1-9]/m);
});

test("with a gRPC bootstrap the certificate files it names must be there too", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { OUTPUT_CERTS: "certs", GRPC_XDS_BOOTSTRAP: "grpc/bootstrap.json" },
  });
  await agent.untilReady();
  const bootstrap = join(agent.folder, "grpc/bootstrap.json");
  expect(JSON.parse(readFileSync(bootstrap, "utf8"))).toHaveProperty("certificate_providers");
  const folder = join(agent.folder, "certs");
  renameSync(folder, `${folder}-away`);
  await until(async () => {
    const { status, body } = await agent.get("status", "/healthz/ready");
    return status === 503 && /grpc bootstrap: .*does not exist/.test(body) ? undefined : `${status} ${body}`;
  });
});
