import { expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { inboundMetrics, outboundMetrics, resolveInboundMetrics, resolveOutboundMetrics } from "./metrics.ts";
import { METRICS, type Metric } from "./resolve-metrics.ts";
import { inboundTracing, outboundTracing, resolveInboundTracing, resolveOutboundTracing } from "./tracing.ts";

const collector = service({ name: "collector", namespace: "obs", ports: [4317, 9411] });
const HOST = "collector.obs.svc.cluster.local";
const PROVIDERS = [
  { name: "prometheus", prometheus: {} },
  { name: "otel", opentelemetry: { service: HOST, port: 4317 } },
  {
    name: "otel-http",
    opentelemetry: {
      service: HOST,
      port: 4317,
      http: { path: "/v1/traces", headers: [{ name: "x-key", envName: "KEY" }] },
      resourceDetectors: { environment: {} },
    },
  },
  { name: "zipkin", zipkin: { service: HOST, port: 9411, maxTagLength: 64 } },
  { name: "datadog", datadog: { service: HOST, port: 4317 } },
  { name: "skywalking", skywalking: { service: HOST, port: 4317, accessToken: "t" } },
  { name: "lost", zipkin: { service: "nobody.obs.svc.cluster.local", port: 9411 } },
  { name: "lightstep", lightstep: { service: HOST, port: 4317, accessToken: "t" } },
  { name: "stackdriver", stackdriver: {} },
];

const telemetry = (spec: object, more: Partial<TestObject> = {}): TestObject => ({
  kind: "Telemetry",
  name: "t",
  spec: { ...spec },
  ...more,
});
const ROOT = { namespace: "istio-system", name: "mesh" };
const APP = { selector: { matchLabels: { app: "web" } } };

function viewOf(objects: readonly TestObject[], meshYaml = "", metadata: Readonly<Record<string, unknown>> = {}) {
  const providers = `extensionProviders: ${JSON.stringify(PROVIDERS)}\n`;
  const mesh = createTestMesh(documents(collector, ...objects), providers + meshYaml);
  return mesh.take().snapshot.view(testNode({ labels: { app: "web" }, metadata }));
}

test("what an inner Telemetry object says of spans takes the place of what an outer one says, member by member", () => {
  const view = viewOf(
    [
      telemetry({ tracing: [{ providers: [{ name: "otel" }], randomSamplingPercentage: 10 }] }, ROOT),
      telemetry({ tracing: [{ customTags: { a: { literal: { value: "1" } } } }] }, { name: "namespace" }),
      telemetry(
        { ...APP, tracing: [{ match: { mode: "CLIENT" }, randomSamplingPercentage: 50 }] },
        { name: "workload" },
      ),
    ],
    "defaultProviders: {tracing: [zipkin]}\n",
  );
  const { choice, said } = resolveOutboundTracing(view.outbound);
  expect(choice).toMatchObject({ provider: "otel", samplingPercentage: 50, customTags: { a: {} }, isDisabled: false });
  expect(resolveInboundTracing(view).choice).toMatchObject({ provider: "otel", samplingPercentage: 10 });
  expect(said.filter(({ subject }) => subject === "random sampling").map(({ value, by }) => [value, by.level])).toEqual(
    [
      ["1 %", "built-in"],
      ["10 %", "mesh"],
      ["50 %", "workload"],
    ],
  );
});

test.each([
  { provider: "otel", name: "envoy.tracers.opentelemetry", config: { serviceName: "istio-proxy.default" } },
  {
    provider: "otel-http",
    name: "envoy.tracers.opentelemetry",
    config: {
      httpService: {
        httpUri: { uri: `http://${HOST}:4317/v1/traces` },
        requestHeadersToAdd: [{ header: { key: "x-key", value: "%ENVIRONMENT(KEY)%" } }],
      },
      resourceDetectors: [{ name: "envoy.tracers.opentelemetry.resource_detectors.environment" }],
    },
  },
  {
    provider: "zipkin",
    name: "envoy.tracers.zipkin",
    config: { collectorCluster: `outbound|9411||${HOST}`, collectorEndpoint: "/api/v2/spans", traceId128bit: true },
  },
  { provider: "datadog", name: "envoy.tracers.datadog", config: { collectorCluster: `outbound|4317||${HOST}` } },
  { provider: "skywalking", name: "envoy.tracers.skywalking", config: { clientConfig: { backendToken: "t" } } },
])("spans for $provider go out by $name", ({ provider, name, config }) => {
  const { settings, problems } = outboundTracing(viewOf([], `defaultProviders: {tracing: [${provider}]}\n`).outbound);
  expect(problems).toEqual([]);
  expect(settings.tracing?.provider).toMatchObject({ name, typedConfig: config });
  expect(settings.tracing).toMatchObject({ clientSampling: { value: 100 }, randomSampling: { value: 1 } });
});

test("SkyWalking has a span for the call that goes out, others for the request alone", () => {
  const spawns = (provider: string) => {
    const view = viewOf([], `defaultProviders: {tracing: [${provider}]}\n`);
    return [outboundTracing(view.outbound), inboundTracing(view)].map(
      ({ settings }) => settings.tracing?.spawnUpstreamSpan,
    );
  };
  expect(spawns("skywalking")).toEqual([true, true]);
  expect(spawns("zipkin")).toEqual([undefined, undefined]);
});

test("spans of servers say what policies on trial would have done", () => {
  const view = viewOf([], "defaultProviders: {tracing: [zipkin]}\n");
  const tags = ({ settings }: ReturnType<typeof inboundTracing>) =>
    settings.tracing?.customTags?.filter(({ tag }) => tag?.includes("dry_run")) ?? [];
  expect(tags(inboundTracing(view)).map(({ tag }) => tag)).toEqual(
    ["allow_policy.name", "allow_policy.result", "deny_policy.name", "deny_policy.result"].map(
      (name) => `istio.authorization.dry_run.${name}`,
    ),
  );
  expect(tags(inboundTracing(view))[0]?.metadata).toEqual({
    kind: { request: {} },
    metadataKey: {
      key: "envoy.filters.http.rbac",
      path: [{ key: "istio_dry_run_allow_shadow_effective_policy_id" }],
    },
  });
  expect(tags(outboundTracing(view.outbound))).toEqual([]);
});

test.each([
  { provider: "nobody", says: "the mesh has no such provider" },
  { provider: "lost", says: "there is no service nobody.obs.svc.cluster.local, or the workload does not see it" },
  { provider: "lightstep", says: "Envoy has no Lightstep tracer any more; Lightstep takes OpenTelemetry" },
  { provider: "stackdriver", says: "Envoy has no Stackdriver tracer; Google Cloud takes OpenTelemetry" },
  { provider: "prometheus", says: "it is not a provider of spans" },
])("a tracing provider that cannot be had is said: $provider", ({ provider, says }) => {
  const view = viewOf([], `defaultProviders: {tracing: [${provider}]}\n`);
  const problem = `tracing provider ${JSON.stringify(provider)}: ${says}`;
  expect(outboundTracing(view.outbound)).toEqual({ settings: {}, problems: [problem] });
  expect(inboundTracing(view).problems).toEqual([problem]);
});

test("all members of a tracing entry arrive", () => {
  const tags = {
    b: { literal: { value: "1" } },
    a: { environment: { name: "POD", defaultValue: "none" } },
    c: { header: { name: "x-c" } },
    d: { formatter: { value: "%PROTOCOL%" } },
  };
  const entry = {
    customTags: tags,
    enableIstioTags: false,
    useRequestIdForTraceSampling: false,
    disableContextPropagation: true,
  };
  const view = viewOf([telemetry({ tracing: [{ providers: [{ name: "zipkin" }], ...entry }] })]);
  const { tracing, requestIdExtension } = outboundTracing(view.outbound).settings;
  expect(tracing).toMatchObject({ maxPathTagLength: 64, noContextPropagation: true });
  expect(tracing?.customTags).toEqual([
    { tag: "a", environment: { name: "POD", defaultValue: "none" } },
    { tag: "b", literal: { value: "1" } },
    { tag: "c", requestHeader: { name: "x-c" } },
    { tag: "d", value: "%PROTOCOL%" },
  ]);
  expect(requestIdExtension?.typedConfig).toMatchObject({ useRequestIdForTraceSampling: false });
});

test("without any object the tracer of the proxy's bootstrap is used, unless the mesh has tracing off", () => {
  const PROXY_CONFIG = { tracing: { zipkin: { address: "zipkin:9411" }, sampling: 7, customTags: {} } };
  const { tracing } = outboundTracing(viewOf([], "", { PROXY_CONFIG }).outbound).settings;
  expect(tracing).toMatchObject({ randomSampling: { value: 7 } });
  expect(tracing?.provider).toBeUndefined();
  expect(outboundTracing(viewOf([], "enableTracing: false\n", { PROXY_CONFIG }).outbound).settings).toEqual({});
  expect(outboundTracing(viewOf([]).outbound).settings).toEqual({});
});

test("disableSpanReporting leaves nothing", () => {
  const view = viewOf([telemetry({ tracing: [{ providers: [{ name: "otel" }], disableSpanReporting: true }] })]);
  expect(outboundTracing(view.outbound)).toEqual({ settings: {}, problems: [] });
});

const METRICS_ON = "defaultProviders: {metrics: [prometheus]}\n";

function statsOf(logs: readonly { readonly typedConfig?: unknown }[]) {
  return logs.flatMap(({ typedConfig }) => {
    const { counters = [], histograms = [] } = typedConfig as Readonly<
      Record<
        "counters" | "histograms",
        readonly { stat: { name: string; tags: readonly { name: string; valueFormat: string }[] } }[]
      >
    >;
    return [...counters, ...histograms].map(({ stat }) => stat);
  });
}

test("nobody counts where nobody asks for it", () => {
  const view = viewOf([]);
  expect(outboundMetrics(view.outbound)).toEqual({ logs: { http: [], tcp: [] }, problems: [] });
});

test("every standard metric is counted, HTTP ones by requests and TCP ones by connections", () => {
  const { http, tcp } = outboundMetrics(viewOf([], METRICS_ON).outbound).logs;
  const requests = [
    "istio_requests_total",
    "istio_request_duration_milliseconds",
    "istio_request_bytes",
    "istio_response_bytes",
  ];
  // Calls of gRPC are counted by a log of their own.
  const messages = ["istio_request_messages_total", "istio_response_messages_total"];
  expect(statsOf(http).map(({ name }) => name)).toEqual([...requests, ...requests, ...messages]);
  expect(statsOf(tcp).map(({ name }) => name)).toEqual([
    "istio_tcp_connections_opened_total",
    "istio_tcp_connections_closed_total",
    "istio_tcp_sent_bytes_total",
    "istio_tcp_received_bytes_total",
  ]);
});

test("overrides change single tags of single metrics for one side, and switch metrics off", () => {
  const override = (match: object, more: object) => ({ match, ...more });
  const view = viewOf(
    [
      telemetry({
        metrics: [
          {
            overrides: [
              override(
                { metric: "REQUEST_COUNT", mode: "CLIENT" },
                { tagOverrides: { response_flags: { operation: "REMOVE" } } },
              ),
              override(
                { metric: "REQUEST_COUNT" },
                { tagOverrides: { team: { value: "'a'" }, host: { value: "request.host" }, id: { value: "node.id" } } },
              ),
              override({ metric: "REQUEST_SIZE" }, { disabled: true }),
            ],
          },
        ],
      }),
    ],
    METRICS_ON,
  );
  const tagsOf = (stats: ReturnType<typeof statsOf>, metric: Metric) =>
    Object.fromEntries(
      stats.find(({ name }) => name === METRICS[metric])?.tags.map(({ name, valueFormat }) => [name, valueFormat]) ??
        [],
    );
  const client = statsOf(outboundMetrics(view.outbound).logs.http);
  const server = statsOf(
    inboundMetrics(view).logs({ host: "web.default.svc", name: "web", namespace: "default" }).http,
  );
  expect(tagsOf(client, "REQUEST_COUNT")).toMatchObject({
    team: "a",
    host: "%CEL(request.host)%",
    id: "%CEL(xds.node.id)%",
  });
  expect(tagsOf(client, "REQUEST_COUNT").labels).toContain(" -response_flags ");
  expect(tagsOf(server, "REQUEST_COUNT")).toMatchObject({ team: "a" });
  expect(tagsOf(server, "REQUEST_COUNT").labels).not.toContain(" -response_flags ");
  expect(tagsOf(client, "REQUEST_DURATION")).not.toHaveProperty("team");
  expect(client.map(({ name }) => name)).not.toContain("istio_request_bytes");
  const { said } = resolveOutboundMetrics(view.outbound);
  expect(said.find(({ subject }) => subject === "istio_request_bytes")).toMatchObject({
    value: "off",
    by: { level: "namespace" },
  });
  expect(resolveInboundMetrics(view).said.some(({ subject }) => subject.includes("response_flags"))).toBe(false);
});

test.each([
  { value: "request.host.split('.')[0]", says: "Envoy has no function split" },
  { value: "string(request.size)", says: "Envoy has no function string" },
  { value: "[1, 2].exists(n, n == 1)", says: "Envoy has no function exists" },
  { value: "request.size % 2 == 0", says: "the expression has a % in it" },
])("a tag keeps its value where Envoy would refuse the expression $value", ({ value, says }) => {
  const overrides = [{ tagOverrides: { response_code: { value } } }];
  const { logs, problems } = outboundMetrics(viewOf([telemetry({ metrics: [{ overrides }] })], METRICS_ON).outbound);
  expect(problems).toEqual([`metric tag response_code stays as it is, ${JSON.stringify(value)}: ${says}`]);
  const [requests] = statsOf(logs.http);
  expect(requests?.tags.map(({ name }) => name)).toEqual(["labels"]);
  expect(requests?.tags[0]?.valueFormat).not.toContain("-response_code");
});

test("a provider of metrics that Envoy has nothing for is said", () => {
  const view = viewOf([telemetry({ metrics: [{ providers: [{ name: "stackdriver" }] }] })], METRICS_ON);
  expect(outboundMetrics(view.outbound)).toEqual({
    logs: { http: [], tcp: [] },
    problems: ['metrics provider "stackdriver": only Prometheus providers have metrics: other kinds are not in Envoy'],
  });
});
