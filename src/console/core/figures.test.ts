import { expect, test } from "vitest";
import { statsOf } from "../../../test/support/console/scripted-sources.ts";
import { buildGraph, type GraphInput } from "./build-graph.ts";
import { addSample, flowsOf, listenerFlowsOf, type Samples } from "./flows.ts";
import type { GraphWorkload, ServiceInfo } from "./graph-nodes.ts";
import { binsSince, quantile } from "./histogram.ts";
import { parseStats, STATS_PATH } from "./parse-stats.ts";
import { statsOfScrape } from "./prometheus-stats.ts";
import { rulesByHost } from "./route-rules.ts";

const HOST = "stock.shop.svc.cluster.local";
const CLUSTER = `outbound|8480||${HOST}`;

/** Samples two seconds apart. */
function samples(...moments: readonly object[]): Samples {
  return moments.reduce<Samples>((before, stats, at) => {
    const sample = parseStats(stats, at * 2000);
    return sample === undefined ? before : addSample(before, sample);
  }, []);
}

test.each([
  { name: `cluster.${CLUSTER};.upstream_rq_completed`, isAsked: true },
  { name: `cluster.${CLUSTER};.upstream_rq_time`, isAsked: true },
  { name: `cluster.${CLUSTER};.external.upstream_rq_completed`, isAsked: false },
  { name: `cluster.${CLUSTER};.external.upstream_rq_time`, isAsked: false },
  { name: `cluster.${CLUSTER}.upstream_rq_completed`, isAsked: true },
  { name: "cluster.outbound|80||api.external.upstream_rq_completed", isAsked: true },
  { name: "cluster.PassthroughCluster;.upstream_cx_total", isAsked: true },
  { name: "cluster.inbound|8080||;.upstream_rq_5xx", isAsked: true },
  { name: "cluster.inbound|8080||;.internal.upstream_rq_time", isAsked: false },
  { name: "cluster.xds-grpc;.upstream_cx_total", isAsked: false },
  { name: "http.outbound_0.0.0.0_80;.fault.aborts_injected", isAsked: true },
  { name: "http.outbound_0.0.0.0_80;.downstream_rq_time", isAsked: false },
])("Envoy is asked for $name: $isAsked", ({ name, isAsked }) => {
  const filter = new URL(STATS_PATH, "http://envoy").searchParams.get("filter") ?? "";
  expect(new RegExp(filter).test(name)).toBe(isAsked);
});

test("rates are differences over the window, not since Envoy started", () => {
  const [flow] = flowsOf(
    samples(
      statsOf({ [CLUSTER]: { completed: 1000, connections: 5 } }),
      statsOf({ [CLUSTER]: { completed: 1010, connections: 5 } }),
      statsOf({ [CLUSTER]: { completed: 1020, connections: 6 } }),
      statsOf({ [CLUSTER]: { completed: 1040, connections: 6 } }),
    ),
  );
  expect(flow).toMatchObject({ completed: 30, connections: 1, windowMs: 4000 });
});

test("an Envoy that was started again counts from zero, never below", () => {
  const [flow] = flowsOf(
    samples(
      statsOf({ [CLUSTER]: { completed: 1000, errors: 50, connections: 9 } }),
      statsOf({ [CLUSTER]: { completed: 8, errors: 0, connections: 1 } }),
    ),
  );
  expect(flow).toMatchObject({ completed: 8, errors: 0, connections: 1 });
});

test.each([
  { what: "all handshakes", counters: { connections: 4, handshakes: 4 }, share: 1 },
  { what: "plain text", counters: { connections: 4, handshakes: 0 }, share: 0 },
  { what: "no connection yet", counters: { completed: 0 }, share: undefined },
])("the share of mutual TLS with $what is $share", ({ counters, share }) => {
  expect(flowsOf(samples(statsOf({}), statsOf({ [CLUSTER]: counters })))[0]?.mtlsShare).toBe(share);
});

test("the newest connections decide about the lock, not those of a time before the rule", () => {
  const [flow] = flowsOf(
    samples(
      statsOf({ [CLUSTER]: { connections: 100, handshakes: 0 } }),
      statsOf({ [CLUSTER]: { connections: 104, handshakes: 4 } }),
    ),
  );
  expect(flow?.mtlsShare).toBe(1);
});

test("quantiles are taken between the bounds of a bin, of what came since", () => {
  const before = [{ lower: 1, width: 0.1, count: 100 }];
  const now = [...before, { lower: 10, width: 1, count: 98 }, { lower: 200, width: 10, count: 2 }];
  const bins = binsSince(now, before);
  expect(quantile(bins, 0.5)).toBeCloseTo(10.51, 1);
  expect(quantile(bins, 0.99)).toBeCloseTo(205, 0);
  expect(quantile([], 0.5)).toBeUndefined();
});

test.each([".external", ".internal", ".retry", ".canary", ";.external"])(
  "what Envoy counts a second time below %s is left out",
  (below) => {
    const sample = parseStats(
      {
        stats: [
          { name: `cluster.${CLUSTER}.upstream_rq_completed`, value: 7 },
          { name: `cluster.${CLUSTER}.upstream_cx_total`, value: 1 },
          { name: `cluster.${CLUSTER}${below}.upstream_rq_completed`, value: 7 },
        ],
      },
      0,
    );
    expect([...(sample?.clusters.keys() ?? [])]).toEqual([CLUSTER]);
  },
);

const WORKLOADS: readonly GraphWorkload[] = ["front", "stock"].map((name) => ({
  id: name,
  name,
  namespace: "shop",
  service: name,
  kind: "sidecar",
  ready: true,
  reasons: [],
}));
const SERVICES: readonly ServiceInfo[] = ["front", "stock"].map((name) => ({
  name,
  namespace: "shop",
  host: `${name}.shop.svc.cluster.local`,
  protocol: "http",
  ports: [8480],
  entry: name === "front",
  external: false,
}));

function graphOf(given: Samples, more: Partial<GraphInput> = {}) {
  const totals = given.at(-1)?.clusters ?? new Map();
  const flows = new Map([["front", { flows: flowsOf(given), listeners: listenerFlowsOf(given), totals }]]);
  return buildGraph({
    at: 0,
    windowMs: 4000,
    workloads: WORKLOADS,
    services: SERVICES,
    flows,
    rules: new Map(),
    stale: [],
    ...more,
  });
}

function withFault(kind: "abort" | "delay", count: number): object {
  const { stats } = statsOf({ [CLUSTER]: { completed: 10, connections: 1 } }) as { readonly stats: readonly object[] };
  const totals = [{ lower_bound: 5, width: 1, count: 10 }];
  return {
    stats: [
      ...stats,
      { name: `http.outbound_0.0.0.0_8480;.fault.${kind}s_injected`, value: count },
      { histograms: { details: [{ name: `cluster.${CLUSTER}.upstream_rq_time`, totals }] } },
    ],
  };
}

function faultRule(fault: object) {
  const spec = { hosts: ["stock"], http: [{ fault, route: [{ destination: { host: "stock" } }] }] };
  return rulesByHost([{ kind: "VirtualService", namespace: "shop", name: "stock", spec }]);
}

test("requests that a fault rule answers are errors of the host that has the rule", () => {
  const given = samples(statsOf({}), withFault("abort", 30));
  const { edges } = graphOf(given, { rules: faultRule({ abort: { httpStatus: 503 } }) });
  expect(edges).toMatchObject([{ to: `service:${HOST}`, rps: 20, errorShare: 0.75, faultShare: 0.75 }]);
  expect(graphOf(given).edges).toMatchObject([{ rps: 5, errorShare: 0 }]);
});

test("requests that a fault rule delays take as much longer as the rule says", () => {
  const given = samples(statsOf({}), withFault("delay", 5));
  const { edges } = graphOf(given, { rules: faultRule({ delay: { fixedDelay: "2s" } }) });
  expect(edges[0]?.p50Ms).toBeLessThan(7);
  expect(edges[0]?.p99Ms).toBeGreaterThan(2004);
  expect(edges[0]?.errorShare).toBe(0);
});

test.each([
  { fixedDelay: "1m30s", delayMs: 90_000 },
  { fixedDelay: "0.25s", delayMs: 250 },
  { fixedDelay: "soon", delayMs: undefined },
  { fixedDelay: undefined, delayMs: undefined },
])("a rule with the delay $fixedDelay has $delayMs ms", ({ fixedDelay, delayMs }) => {
  const spec = { hosts: [HOST], http: [{ fault: { delay: { fixedDelay } } }] };
  const rules = rulesByHost([{ kind: "VirtualService", namespace: "shop", name: "slow", spec }]);
  expect(rules.get(HOST)?.delayMs).toBe(delayMs);
});

test("a rule that aborts every request still has an edge", () => {
  const stats = { stats: [{ name: "http.outbound_0.0.0.0_8480;.fault.aborts_injected", value: 40 }] };
  const { edges } = graphOf(samples(statsOf({}), stats), { rules: faultRule({ abort: { httpStatus: 503 } }) });
  expect(edges).toMatchObject([{ from: "service:front.shop.svc.cluster.local", to: `service:${HOST}`, errorShare: 1 }]);
});

test("hosts that nobody has told of are drawn as what they are: services by their names, others as external", () => {
  const given = samples(
    statsOf({}),
    statsOf({
      "outbound|80|v2|new.other.svc.cluster.local": { completed: 4, connections: 1 },
      "outbound|443||api.example.com": { connections: 2 },
    }),
  );
  const { nodes, edges } = graphOf(given);
  expect(nodes.find(({ id }) => id === "service:new.other.svc.cluster.local")).toMatchObject({
    label: "new",
    kind: "service",
  });
  expect(nodes.find(({ id }) => id === "version:new.other.svc.cluster.local|v2")).toMatchObject({
    label: "v2",
    kind: "version",
  });
  expect(nodes.find(({ id }) => id === "service:api.example.com")).toMatchObject({ kind: "external" });
  expect(edges.find(({ to }) => to === "service:api.example.com")).toMatchObject({ protocol: "tcp", rps: 0 });
});

test("a host that was called once stays when nobody calls it, also in the first sample", () => {
  const once = statsOf({ "outbound|80||new.other.svc.cluster.local": { completed: 4, connections: 1 } });
  for (const given of [samples(once), samples(once, once, once, once)]) {
    const { nodes, edges } = graphOf(given);
    expect(nodes.map(({ label }) => label)).toContain("new");
    expect(edges).toEqual([]);
  }
});

test("a scrape has the same figures as Envoy's own statistics, and Istio's telemetry where there are none", () => {
  const scrape = `# TYPE envoy_cluster_upstream_rq_completed counter
envoy_cluster_upstream_rq_completed{cluster_name="${CLUSTER}"} 12
envoy_cluster_upstream_rq_xx{response_code_class="5",cluster_name="${CLUSTER}"} 3
envoy_cluster_ssl_handshake{cluster_name="${CLUSTER}"} 1
envoy_cluster_upstream_cx_total{cluster_name="${CLUSTER}"} 1
envoy_cluster_upstream_rq_time_bucket{cluster_name="${CLUSTER}",le="5"} 4
envoy_cluster_upstream_rq_time_bucket{cluster_name="${CLUSTER}",le="10"} 12
envoy_cluster_upstream_rq_time_bucket{cluster_name="${CLUSTER}",le="+Inf"} 12
istio_requests_total{reporter="source",destination_service="web.shop.svc.cluster.local",destination_version="v1",response_code="500"} 2
istio_requests_total{reporter="destination",destination_service="front.shop.svc.cluster.local",response_code="200"} 9
`;
  const sample = parseStats(statsOfScrape(scrape), 0);
  expect(sample?.clusters.get(CLUSTER)).toMatchObject({
    completed: 12,
    errors: 3,
    handshakes: 1,
    connections: 1,
    time: [
      { lower: 0, width: 5, count: 4 },
      { lower: 5, width: 5, count: 8 },
    ],
  });
  expect(sample?.clusters.get("outbound|0|v1|web.shop.svc.cluster.local")).toMatchObject({ completed: 2, errors: 2 });
  expect(sample?.clusters.size).toBe(2);
});
