import { expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import { freePorts } from "../test/support/agent/agent-process.ts";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, peerAuthentication, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import type { CollectedSpan, Echo, HttpRequest } from "../test/support/discovery/workload.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { expectPromtoolAccepts } from "../test/support/status/document.ts";
import { startPrometheus } from "../test/support/status/prometheus.ts";
import { DASHBOARD_QUERIES } from "../test/support/telemetry/dashboard-queries.ts";
import { seriesOf } from "../test/support/telemetry/read-metrics.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv", "promtool"] as const;
const PORTS = [
  { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
  { number: 83, name: "grpc", protocol: "GRPC", targetPort: 8083 },
  { number: 84, name: "tcp", protocol: "TCP", targetPort: 8084 },
];
const WORKLOADS = { client: "10.10.1.1", web: "10.10.2.1", store: "10.10.2.2" } as const;
type Name = keyof typeof WORKLOADS;
const VIPS = { web: "10.96.0.10", store: "10.96.0.11" } as const;
const COLLECTOR = "10.10.3.1";
const EDGE = "10.10.1.9";
const COLLECTORS = [
  { number: 4317, name: "grpc-otlp", protocol: "GRPC", targetPort: 4317 },
  { number: 4318, name: "http-otlp", protocol: "HTTP", targetPort: 4318 },
  { number: 9411, name: "http-zipkin", protocol: "HTTP", targetPort: 9411 },
  // Nobody listens there.
  { number: 9412, name: "http-away", protocol: "HTTP", targetPort: 9412 },
  { number: 9413, name: "http-slow", protocol: "HTTP", targetPort: 9413 },
  { number: 9414, name: "http-refuses", protocol: "HTTP", targetPort: 9414 },
  { number: 9415, name: "http-slow-otlp", protocol: "HTTP", targetPort: 9413 },
];
const labelsOf = (name: Name | "edge") => ({
  app: name,
  version: "v1",
  "service.istio.io/workload-name": `${name}-v1`,
});

const services = documents(
  ...(["web", "store"] as const).map((name) =>
    serviceEntry({
      name,
      vip: VIPS[name],
      ports: PORTS,
      endpoints: [{ address: WORKLOADS[name], serviceAccount: name, labels: labelsOf(name) }],
    }),
  ),
  serviceEntry({ name: "collector", vip: "10.96.0.20", ports: COLLECTORS, endpoints: [{ address: COLLECTOR }] }),
);
const collector = (port: number, more: object = {}) => ({ service: hostOf("collector"), port, ...more });
const MESH = JSON.stringify({
  defaultProviders: { metrics: ["prometheus"] },
  extensionProviders: [
    { name: "prometheus", prometheus: {} },
    { name: "otlp", opentelemetry: collector(4317) },
    { name: "otlp-http", opentelemetry: collector(4318, { http: { path: "/v1/traces" } }) },
    { name: "zipkin", zipkin: collector(9411) },
    { name: "away", zipkin: collector(9412) },
    { name: "slow", zipkin: collector(9413) },
    { name: "slow-otlp", opentelemetry: collector(9415, { http: { path: "/v1/traces", timeout: "60s" } }) },
    { name: "refusing", zipkin: collector(9414) },
  ],
});
const telemetry = (spec: object) => ruleObject("telemetry.istio.io/v1", "Telemetry", "t", spec);

const started = sharedPlace(NEEDS, async (opened) => {
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "services.yaml": services },
      mesh: MESH,
      workloads: [
        ...(["client", "web", "store"] as const).map((name) => ({
          name,
          address: WORKLOADS[name],
          labels: labelsOf(name),
          env: { ISTIO_META_WORKLOAD_NAME: `${name}-v1` },
        })),
        {
          name: "edge",
          address: EDGE,
          isRouter: true,
          labels: labelsOf("edge"),
          env: { ISTIO_META_WORKLOAD_NAME: "edge-v1" },
        },
        { name: "collector", address: COLLECTOR, hasSidecar: false },
      ],
    }),
  );
  for (const name of ["web", "store"] as const) {
    await mesh.workload(name).listen({ kind: "http", port: 8080, name });
    await mesh.workload(name).listen({ kind: "grpc", port: 8083, name });
    await mesh.workload(name).listen({ kind: "tcp", port: 8084, name });
  }
  await mesh.workload("collector").listen({ kind: "collector-grpc", port: 4317, name: "collector" });
  await mesh.workload("collector").listen({ kind: "collector-http", port: 4318, name: "collector" });
  await mesh.workload("collector").listen({ kind: "collector-http", port: 9411, name: "collector" });
  await mesh.workload("collector").listen({ kind: "http", port: 9413, name: "slow" });
  await mesh.workload("collector").behave({ port: 9413, delayMs: 60_000 });
  await mesh.workload("collector").listen({ kind: "http", port: 9414, name: "refusing" });
  await mesh.workload("collector").behave({ port: 9414, status: 503 });
  return mesh;
});

async function call(from: Name, to: keyof typeof VIPS, more: Partial<HttpRequest> = {}) {
  const [answer] = await started()
    .workload(from)
    .http({ address: VIPS[to], port: 80, host: hostOf(to), fresh: true, ...more });
  return answer;
}

async function untilAnswered(from: Name, to: keyof typeof VIPS): Promise<void> {
  await until(async () => {
    const answer = await call(from, to);
    return answer?.status === 200 ? undefined : `${answer?.status} ${answer?.body}${answer?.error ?? ""}`;
  });
}

async function metricsOf(name: Name | "edge", port = 15020): Promise<string> {
  const request = { address: "127.0.0.1", port, host: "localhost", path: "/stats/prometheus", fresh: true };
  const [answer] = await started().workload(name).http(request);
  return answer?.body ?? "";
}

async function spansAt(port: number): Promise<readonly CollectedSpan[]> {
  return (await started().workload("collector").seen(port)).map((line) => JSON.parse(line) as CollectedSpan);
}

const principal = (name: Name | "edge") => `spiffe://cluster.local/ns/default/sa/${name}`;
const side = (which: "source" | "destination", name: Name | "edge", account: string) => ({
  [`${which}_workload`]: `${name}-v1`,
  [`${which}_workload_namespace`]: "default",
  [`${which}_app`]: name,
  [`${which}_version`]: "v1",
  [`${which}_canonical_service`]: name,
  [`${which}_canonical_revision`]: "v1",
  [`${which}_cluster`]: "Kubernetes",
  [`${which}_principal`]: account,
});
const served = (name: Name) => ({
  destination_service: hostOf(name),
  destination_service_name: name,
  destination_service_namespace: "default",
});

test("both ends of every call know who calls whom: HTTP, gRPC and TCP, errors, with and without mutual TLS", async () => {
  const mesh = started();
  await untilAnswered("client", "web");
  await untilAnswered("web", "store");
  await call("client", "web", { path: "/status/500" });
  const [client, web] = [mesh.workload("client"), mesh.workload("web")];
  await client.grpc({ address: VIPS.web, port: 83, host: hostOf("web"), message: "hello" });
  await web.grpc({ address: VIPS.store, port: 83, host: hostOf("store"), message: "hello" });
  await client.tcp({ address: VIPS.store, port: 84, send: "hello\n" });
  const expected = (from: Name, to: Name) => {
    const both = { ...side("source", from, principal(from)), ...side("destination", to, principal(to)), ...served(to) };
    return [
      { at: from, labels: { ...both, reporter: "source", connection_security_policy: "unknown" } },
      { at: to, labels: { ...both, reporter: "destination", connection_security_policy: "mutual_tls" } },
    ];
  };
  const ok = { response_code: "200", response_flags: "-" };
  for (const [from, to] of [
    ["client", "web"],
    ["web", "store"],
  ] as const) {
    for (const { at, labels } of expected(from, to)) {
      // An end counts a request a moment after the caller has its answer.
      await until(async () => {
        const requests = seriesOf(await metricsOf(at), "istio_requests_total");
        expect(requests).toContainEqual(
          expect.objectContaining({ ...labels, ...ok, request_protocol: "http", grpc_response_status: "" }),
        );
        expect(requests).toContainEqual(
          expect.objectContaining({ ...labels, ...ok, request_protocol: "grpc", grpc_response_status: "0" }),
        );
      });
    }
  }
  // One message each way, at both ends.
  for (const name of ["istio_request_messages_total", "istio_response_messages_total"]) {
    for (const { at, labels } of expected("web", "store")) {
      expect(seriesOf(await metricsOf(at), name)).toContainEqual(
        expect.objectContaining({ ...labels, ...ok, request_protocol: "grpc", grpc_response_status: "0", value: "1" }),
      );
    }
  }
  for (const at of ["client", "web"] as const) {
    expect(seriesOf(await metricsOf(at), "istio_requests_total")).toContainEqual(
      expect.objectContaining({ response_code: "500", destination_workload: "web-v1", source_workload: "client-v1" }),
    );
  }
  // A connection counts when it has ended.
  await until(async () => {
    const [atClient, atStore] = [await metricsOf("client"), await metricsOf("store")];
    const of = (text: string, name: string) => seriesOf(text, name)[0]?.value;
    const closed = "istio_tcp_connections_closed_total";
    return of(atClient, closed) === "1" && of(atStore, closed) === "1" ? undefined : `${atClient.length}`;
  });
  const [atClient, atStore] = [await metricsOf("client"), await metricsOf("store")];
  for (const name of [
    "istio_tcp_connections_opened_total",
    "istio_tcp_received_bytes_total",
    "istio_tcp_sent_bytes_total",
  ]) {
    expect(seriesOf(atClient, name)).toEqual([
      expect.objectContaining({
        ...expected("client", "store")[0]?.labels,
        request_protocol: "tcp",
        response_flags: "-",
      }),
    ]);
    // No header says who it is, and the certificate says no more than the account.
    expect(seriesOf(atStore, name)).toEqual([
      expect.objectContaining({
        reporter: "destination",
        request_protocol: "tcp",
        source_workload: "unknown",
        source_principal: principal("client"),
        connection_security_policy: "mutual_tls",
        ...side("destination", "store", principal("store")),
        ...served("store"),
      }),
    ]);
  }
  expect(seriesOf(atStore, "istio_tcp_connections_opened_total")[0]?.value).toBe("1");
  mesh.controlPlane.write("mtls.yaml", peerAuthentication("default", { mtls: { mode: "DISABLE" } }));
  await until(async () => {
    await call("client", "web");
    const plain = seriesOf(await metricsOf("web"), "istio_requests_total").filter(
      ({ connection_security_policy: policy }) => policy === "none",
    );
    return plain.length > 0 ? undefined : "no call in plaintext";
  });
  const plain = { source_principal: "unknown", destination_principal: "unknown", source_workload: "client-v1" };
  expect(seriesOf(await metricsOf("web"), "istio_requests_total")).toContainEqual(
    expect.objectContaining({ ...plain, connection_security_policy: "none", destination_workload: "web-v1" }),
  );
  mesh.controlPlane.write("mtls.yaml", undefined);
  expect(await mesh.rejections()).toEqual([]);
});

test("a gateway reports the calls that it makes, and servers know it as their caller", async () => {
  const mesh = started();
  const server = { port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] };
  const rules = documents(
    ruleObject("networking.istio.io/v1", "Gateway", "edge", { selector: { app: "edge" }, servers: [server] }),
    ruleObject("networking.istio.io/v1", "VirtualService", "edge", {
      gateways: ["edge"],
      hosts: ["web.example"],
      http: [{ route: [{ destination: { host: hostOf("web"), port: { number: 80 } } }] }],
    }),
  );
  mesh.controlPlane.write("gateway.yaml", rules);
  const through = async (host: string, path = "/") => {
    // From outside of the mesh, with a forged caller.
    const headers = { "x-istio-peer": "forged;forged response_code=200" };
    const request = { address: EDGE, port: 8080, host, path, fresh: true, headers };
    const [answer] = await mesh.workload("collector").http(request);
    return answer?.status;
  };
  await until(async () => ((await through("web.example")) === 200 ? undefined : "no answer"), 40_000);
  expect(await through("web.example", "/status/503")).toBe(503);
  expect(await through("other.example")).toBe(404);
  const both = {
    ...side("source", "edge", principal("edge")),
    ...side("destination", "web", principal("web")),
    ...served("web"),
    request_protocol: "http",
  };
  const requestsOf = async (name: Name | "edge") => seriesOf(await metricsOf(name), "istio_requests_total");
  for (const response_code of ["200", "503"]) {
    await expect
      .poll(() => requestsOf("edge"))
      .toContainEqual(expect.objectContaining({ ...both, reporter: "source", response_code }));
    await expect
      .poll(() => requestsOf("web"))
      .toContainEqual(
        expect.objectContaining({
          ...both,
          reporter: "destination",
          connection_security_policy: "mutual_tls",
          response_code,
        }),
      );
  }
  await expect
    .poll(() => requestsOf("edge"))
    .toContainEqual(
      expect.objectContaining({
        ...side("source", "edge", "unknown"),
        response_code: "404",
        response_flags: "NR",
        destination_workload: "unknown",
        destination_service: "unknown",
      }),
    );
  for (const at of ["edge", "web"] as const) expect(await metricsOf(at)).not.toContain("forged");
  mesh.controlPlane.write("gateway.yaml", undefined);
  expect(await mesh.rejections()).toEqual([]);
});

test("promtool takes the merged metrics, and the dashboards' queries find data in a Prometheus that scrapes them", async () => {
  const texts = new Map(
    await Promise.all(
      (["client", "web", "store"] as const).map(async (name) => [name, await metricsOf(name)] as const),
    ),
  );
  for (const text of texts.values()) await expectPromtoolAccepts(text);
  // Envoy's own port has the same series behind the prefix that Envoy gives to all of its names.
  expect(await metricsOf("web", 15090)).toContain("envoy_istio_requests_total{");
  await using servers = new CloseStack();
  const targets: number[] = [];
  for (const text of texts.values()) {
    targets.push(servers.add(await startHttpServer((_request, response) => response.end(text))).port);
  }
  const [port = 0] = await freePorts(1);
  await using prometheus = await startPrometheus(port, targets);
  for (const query of DASHBOARD_QUERIES) {
    await until(async () => ((await prometheus.value(query)) === undefined ? `nothing for ${query}` : undefined));
  }
});

test("an override takes a tag away at one side and another metric altogether", async () => {
  const mesh = started();
  const overrides = [
    { match: { metric: "REQUEST_COUNT", mode: "SERVER" }, tagOverrides: { response_flags: { operation: "REMOVE" } } },
    { match: { metric: "REQUEST_COUNT" }, tagOverrides: { host: { value: "request.host" } } },
    { match: { metric: "REQUEST_DURATION", mode: "CLIENT" }, disabled: true },
  ];
  mesh.controlPlane.write("telemetry.yaml", telemetry({ metrics: [{ overrides }] }));
  await until(async () => {
    await call("client", "web");
    const isThere = seriesOf(await metricsOf("web"), "istio_requests_total").some(
      (series) => series.host === hostOf("web") && series.response_flags === undefined,
    );
    return isThere ? undefined : "the override is not in force";
  });
  // Envoy adds up histograms now and then: once that of the sizes has every request, so has that of the durations.
  const count = (series: ReturnType<typeof seriesOf>) => series.reduce((sum, { value }) => sum + Number(value), 0);
  const atClient = () => metricsOf("client");
  await until(async () => {
    await call("client", "web");
    const isThere = seriesOf(await atClient(), "istio_requests_total").some(({ host }) => host === hostOf("web"));
    return isThere ? undefined : "the override is not in force at the client";
  });
  let text = "";
  await until(async () => {
    text = await atClient();
    const [sizes, requests] = ["istio_request_bytes_count", "istio_requests_total"].map((name) =>
      count(seriesOf(text, name)),
    );
    return sizes === requests ? undefined : `${sizes} of ${requests}`;
  });
  const before = seriesOf(text, "istio_requests_total").filter(({ host }) => host === undefined);
  expect(count(seriesOf(text, "istio_request_duration_milliseconds_count"))).toBe(count(before));
  mesh.controlPlane.write("telemetry.yaml", undefined);
  expect(await mesh.rejections()).toEqual([]);
});

test.each([
  { provider: "otlp", port: 4317, propagated: ["traceparent", "tracestate"], service: "web.default" },
  { provider: "otlp-http", port: 4318, propagated: ["traceparent", "tracestate"], service: "web.default" },
  { provider: "zipkin", port: 9411, propagated: ["x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid", "x-b3-sampled"] },
])(
  "spans of three services arrive at $provider with the right parents",
  async ({ provider, port, propagated, service }) => {
    const mesh = started();
    const customTags = { team: { literal: { value: "a" } }, who: { header: { name: "x-who" } } };
    const entry = { providers: [{ name: provider }], randomSamplingPercentage: 100, customTags };
    mesh.controlPlane.write("telemetry.yaml", telemetry({ tracing: [entry] }));
    // Both sides of both calls have to know the collector first.
    await until(async () => {
      await call("client", "web", { headers: { "x-who": "early" } });
      await call("web", "store", { headers: { "x-who": "early" } });
      const names = new Set(
        (await spansAt(port)).map(({ name, tags }) => `${tags["istio.canonical_service"]} ${name}`),
      );
      return names.size === 4 ? undefined : `spans of ${[...names].join()}`;
    }, 40_000);
    const answer = await call("client", "web", { headers: { "x-who": provider } });
    const { headers } = JSON.parse(answer?.body ?? "{}") as Echo;
    // As an application does: what it got is what it passes on.
    const passed = propagated.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
    await call("web", "store", { headers: { ...Object.fromEntries(passed), "x-who": provider } });
    let spans: readonly CollectedSpan[] = [];
    await until(async () => {
      spans = (await spansAt(port)).filter(({ tags }) => tags.who === provider);
      return spans.length >= 4 ? undefined : `${spans.length} spans`;
    });
    expect(new Set(spans.map(({ trace }) => trace)).size).toBe(1);
    expect(spans).toHaveLength(4);
    const [root] = spans.filter(({ parent }) => parent === "" || !spans.some(({ id }) => id === parent));
    const chain: CollectedSpan[] = [];
    for (let next = root; next !== undefined; next = spans.find(({ parent }) => parent === chain.at(-1)?.id))
      chain.push(next);
    expect(chain.map(({ tags }) => tags["istio.canonical_service"])).toEqual(["client", "web", "web", "store"]);
    expect(chain.map(({ name }) => name)).toEqual(
      ["web", "web", "store", "store"].map((name) => `${hostOf(name)}:80/*`),
    );
    for (const { tags } of chain) expect(tags).toMatchObject({ team: "a", "istio.namespace": "default" });
    if (service !== undefined) expect(chain[1]?.service).toBe(service);
    mesh.controlPlane.write("telemetry.yaml", undefined);
    expect(await mesh.rejections()).toEqual([]);
  },
);

/** Listeners of both ends of calls to web, when they are as `isInForce` says. */
async function untilTraced(isInForce: (client: string, inboundOfWeb: string) => boolean): Promise<void> {
  const listeners = async (name: Name) =>
    JSON.parse(await started().workload(name).admin("/config_dump?resource=dynamic_listeners")) as {
      readonly configs: readonly { readonly name?: string }[];
    };
  await until(async () => {
    const [client, web] = [await listeners("client"), await listeners("web")];
    const inbound = web.configs.find(({ name }) => name === "virtualInbound");
    const clusters = await started().workload("client").admin("/config_dump?resource=dynamic_active_clusters");
    if (!clusters.includes("max_requests_per_connection")) return "connections are shared";
    return isInForce(JSON.stringify(client), JSON.stringify(inbound)) ? undefined : "not in force yet";
  }, 40_000);
}

const DECIDED = {
  "x-b3-traceid": "463ac35c9f6413ad48485a3953bb6124",
  "x-b3-spanid": "a2fb4a1d1a96d312",
  "x-b3-sampled": "1",
};

/** Connections live on with the listener they came to: with one for each call the listener of now is meant. */
const ONE_CALL_EACH = ruleObject("networking.istio.io/v1", "DestinationRule", "web", {
  host: hostOf("web"),
  trafficPolicy: { connectionPool: { http: { maxRequestsPerConnection: 1 } } },
});

/** Calls with a span in any case, until those of both ends have arrived: what was made before them has arrived as well. */
async function untilFlushed(who: string, ends: readonly Name[]): Promise<readonly CollectedSpan[]> {
  await call("client", "web", { headers: { ...DECIDED, "x-who": who } });
  let spans: readonly CollectedSpan[] = [];
  await until(async () => {
    spans = await spansAt(9411);
    const seen = spans.filter(({ tags }) => tags.who === who).map(({ tags }) => tags["istio.canonical_service"]);
    return ends.every((end) => seen.includes(end)) ? undefined : `spans of ${seen.join()}`;
  });
  return spans;
}

test("of requests without a decision so many have spans as the sampling says, and custom tags have values from everywhere", async () => {
  const mesh = started();
  mesh.controlPlane.write("connections.yaml", ONE_CALL_EACH);
  const sample = async (phase: string, randomSamplingPercentage: number) => {
    const customTags = {
      phase: { literal: { value: phase } },
      who: { header: { name: "x-who", defaultValue: "nobody" } },
      pod: { environment: { name: "POD_NAME" } },
      unset: { environment: { name: "ISTIO_META_NOT_SET", defaultValue: "usual" } },
      method: { formatter: { value: "%REQ(:METHOD)%" } },
    };
    const entry = { providers: [{ name: "zipkin" }], randomSamplingPercentage, customTags };
    mesh.controlPlane.write("telemetry.yaml", telemetry({ tracing: [entry] }));
    await untilTraced((client, inbound) => client.includes(phase) && inbound.includes(phase));
    const answers = await mesh
      .workload("client")
      .http({ address: VIPS.web, port: 80, host: hostOf("web"), count: 400, concurrency: 4, fresh: true });
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const spans = (await untilFlushed(`end of ${phase}`, ["client", "web"])).filter(({ tags }) => tags.phase === phase);
    return {
      random: spans.filter(({ tags }) => tags.who === "nobody"),
      decided: spans.filter(({ tags }) => tags.who !== "nobody"),
    };
  };
  const none = await sample("none-of-them", 0);
  expect(none.random).toEqual([]);
  // The caller's decision counts, and its trace goes on.
  for (const { trace, tags } of none.decided) {
    expect(trace).toBe(DECIDED["x-b3-traceid"]);
    const pod = tags["istio.canonical_service"];
    expect(tags).toMatchObject({ phase: "none-of-them", unset: "usual", method: "GET", pod });
  }
  const { random } = await sample("some-of-them", 40);
  const atClient = random.filter(({ tags }) => tags["istio.canonical_service"] === "client");
  // Five standard deviations of 400 draws at two in five.
  expect(Math.abs(atClient.length - 160)).toBeLessThan(49);
  expect(random.length).toBe(2 * atClient.length);
  mesh.controlPlane.write("telemetry.yaml", undefined);
  mesh.controlPlane.write("connections.yaml", undefined);
  expect(await mesh.rejections()).toEqual([]);
});

test("where span reporting is disabled for servers, clients alone report", async () => {
  const mesh = started();
  mesh.controlPlane.write("connections.yaml", ONE_CALL_EACH);
  const everything = (phase: string) => ({
    providers: [{ name: "zipkin" }],
    randomSamplingPercentage: 100,
    customTags: { who: { header: { name: "x-who" } }, phase: { literal: { value: phase } } },
  });
  const silent = { match: { mode: "SERVER" }, disableSpanReporting: true };
  mesh.controlPlane.write("telemetry.yaml", telemetry({ tracing: [everything("half"), silent] }));
  await untilTraced((client, inbound) => client.includes("half") && !inbound.includes("ZipkinConfig"));
  await call("client", "web", { headers: { "x-who": "half" } });
  await untilFlushed("half is over", ["client"]);
  mesh.controlPlane.write("telemetry.yaml", telemetry({ tracing: [everything("whole")] }));
  await untilTraced((client, inbound) => client.includes("whole") && inbound.includes("whole"));
  const spans = await untilFlushed("whole is over", ["client", "web"]);
  expect(spans.filter(({ tags }) => tags.who === "half")).toMatchObject([
    { tags: { "istio.canonical_service": "client" } },
  ]);
  mesh.controlPlane.write("telemetry.yaml", undefined);
  mesh.controlPlane.write("connections.yaml", undefined);
  expect(await mesh.rejections()).toEqual([]);
});

test.each([
  { collector: "is away", provider: "away", seen: /\|9412\|\|.*::cx_connect_fail::[1-9]/ },
  { collector: "refuses every span", provider: "refusing", seen: /\|9414\|\|.*::rq_error::[1-9]/ },
  { collector: "does not answer", provider: "slow", seen: /\|9413\|\|.*::rq_active::[1-9]/ },
  { collector: "does not answer (OTLP)", provider: "slow-otlp", seen: /\|9415\|\|.*::rq_active::[1-9]/ },
])("calls go on where the collector of their spans $collector", async ({ provider, seen }) => {
  const mesh = started();
  const entry = { providers: [{ name: provider }], randomSamplingPercentage: 100 };
  mesh.controlPlane.write("telemetry.yaml", telemetry({ tracing: [entry] }));
  await until(async () => {
    const answer = await call("client", "web");
    if (answer?.status !== 200) throw new Error(`${answer?.status} ${answer?.error}`);
    return seen.test(await mesh.workload("client").admin("/clusters")) ? undefined : "no span was sent";
  }, 40_000);
  const answers = await mesh
    .workload("client")
    .http({ address: VIPS.web, port: 80, host: hostOf("web"), count: 50, concurrency: 5 });
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
  mesh.controlPlane.write("telemetry.yaml", undefined);
  expect(await mesh.rejections()).toEqual([]);
});
