import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { beforeEach, expect, test } from "vitest";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { expectPromtoolAccepts } from "../test/support/status/document.ts";
import { fetchBytes } from "../test/support/status/scrape.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy", "promtool"));

/** A real Prometheus: it has metrics of its own as any application does, and scrapes `target` every second. */
async function startPrometheus(port: number, target: number) {
  const folder = await mkdtemp(join(tmpdir(), "status-prometheus-"));
  const config = `global: {scrape_interval: 1s}\nscrape_configs: [{job_name: pod, metrics_path: /stats/prometheus, static_configs: [{targets: ["127.0.0.1:${target}"]}]}]\n`;
  await writeFile(join(folder, "prometheus.yml"), config);
  const flags = {
    "config.file": "prometheus.yml",
    "storage.tsdb.path": "data",
    "web.listen-address": `127.0.0.1:${port}`,
  };
  const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child: ChildProcess = spawn("prometheus", words, { cwd: folder, stdio: "ignore" });
  const exited = new Promise((done) => child.once("exit", done));
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      const { status } = await fetchBytes(port, "/-/ready").catch(() => ({ status: 0 }));
      return status === 200 ? undefined : `Prometheus is not ready: ${status}`;
    });
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    /** The value of the first series that the expression finds. */
    async value(expression: string): Promise<string | undefined> {
      const { text } = await fetchBytes(port, `/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data } = JSON.parse(text) as { data: { result: { value: [number, string] }[] } };
      return data.result[0]?.value[1];
    },
    async targetError(): Promise<string | undefined> {
      const { text } = await fetchBytes(port, "/api/v1/targets");
      const { data } = JSON.parse(text) as { data: { activeTargets: { lastError: string }[] } };
      return data.activeTargets[0]?.lastError;
    },
    [Symbol.asyncDispose]: stop,
  };
}

test("Prometheus takes the merged document of a pod, in which another program's client library has its part", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const [port = 0] = await freePorts(1);
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(port) }) },
  });
  await agent.untilReady();
  await using prometheus = await startPrometheus(port, agent.ports.status);
  const wanted = [
    'up{job="pod"} == 1',
    "envoy_server_live == 1",
    'prometheus_build_info{job="pod"} == 1',
    'count(prometheus_http_request_duration_seconds_bucket{job="pod"}) > 10',
    "istio_agent_scrapes_total > 1",
  ];
  await until(async () => {
    for (const expression of wanted)
      if ((await prometheus.value(expression)) === undefined) return `${expression}: ${await prometheus.targetError()}`;
    return undefined;
  });
  expect(await prometheus.targetError()).toBe("");
  const { text } = await fetchBytes(agent.ports.status, "/stats/prometheus");
  expect(text).not.toMatch(/^istio_agent_scrape_dropped_total/m);
});

test("a Node application with prom-client is merged with Envoy's statistics into a document that promtool accepts", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const orders = new Histogram({ name: "shop_orders_seconds", help: "Time per order.", registers: [registry] });
  orders.observe(0.3);
  await using application = await startHttpServer((_request, response) => {
    response.setHeader("content-type", registry.contentType);
    registry.metrics().then(
      (text) => response.end(text),
      (thrown: Error) => response.destroy(thrown),
    );
  });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(application.port) }) },
  });
  await agent.untilReady();
  const { text } = await fetchBytes(agent.ports.status, "/stats/prometheus");
  expect(text).toMatch(/^shop_orders_seconds_count 1$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  expect(text).toMatch(/^envoy_server_live/m);
  await expectPromtoolAccepts(text);
});
