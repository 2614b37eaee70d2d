import { collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { beforeEach, expect, test } from "vitest";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { expectPromtoolAccepts } from "../test/support/status/document.ts";
import { startPrometheus } from "../test/support/status/prometheus.ts";
import { fetchBytes } from "../test/support/status/scrape.ts";
import { startOtlpGrpcReceiver, startOtlpReceiver } from "../test/support/telemetry/otlp-receiver.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy", "promtool"));

test("Prometheus takes the merged document of a pod, in which another program's client library has its part", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const [port = 0] = await freePorts(1);
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(port) }) },
  });
  await agent.untilReady();
  await using prometheus = await startPrometheus(port, [agent.ports.status]);
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

test.each([
  {
    protocol: "HTTP",
    receive: startOtlpReceiver,
    env: (url: string) => ({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${url}/v1/metrics` }),
  },
  {
    protocol: "gRPC",
    receive: startOtlpGrpcReceiver,
    env: (url: string) => ({
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
    }),
  },
])("the merged metrics of a pod are pushed to a collector over $protocol where one is named", async (way) => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using receiver = await way.receive();
  await using application = await startHttpServer((_request, response) => {
    response.end("# TYPE shop_orders_total counter\nshop_orders_total 7\n");
  });
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ port: String(application.port) }),
      ...way.env(receiver.url),
      OTEL_METRIC_EXPORT_INTERVAL: "1000",
      OTEL_SERVICE_NAME: "shop",
    },
  });
  await agent.untilReady();
  const wanted = ["envoy_server_live", "shop_orders_total", "istio_agent_scrapes_total"];
  await until(async () => {
    const names = new Set(receiver.exports.flatMap(({ metrics }) => metrics.map(({ name }) => name)));
    const missing = wanted.filter((name) => !names.has(name));
    return missing.length === 0 ? undefined : `without ${missing.join()}, ${receiver.exports.length} exports`;
  });
  const metrics = receiver.exports.flatMap((each) => each.metrics);
  expect(metrics.find(({ name }) => name === "shop_orders_total")?.points).toMatchObject([{ value: 7 }]);
  expect(metrics.find(({ name }) => name === "envoy_server_live")?.kind).toBe("gauge");
  expect(receiver.exports[0]?.resource).toMatchObject({ "service.name": "shop" });
});
