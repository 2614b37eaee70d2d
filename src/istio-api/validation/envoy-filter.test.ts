import { expect, test } from "vitest";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { decodeObject } from "../decode/decode-object.ts";

function problemsOf(apiVersion: string, kind: string, spec: unknown): readonly string[] {
  const document = { apiVersion, kind, metadata: { name: "x", namespace: "prod" }, spec };
  return decodeObject(document, { defaultNamespace: "default" }).problems.map(
    ({ path, message, severity }) => `${severity} ${formatPath(path).replace(/^spec\.?/, "")}: ${message}`,
  );
}

const MANAGER = "envoy.filters.network.http_connection_manager";
const patch = (given: object) => ({
  configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connect_timeout: "1s" } }, ...given }],
});
const removal = { patch: { operation: "REMOVE" } };
const filterMatch = (applyTo: string, filter: object) =>
  patch({ applyTo, match: { listener: { filterChain: { filter } } }, ...removal });
const IN_FILTER = "configPatches[0].match.listener.filterChain.filter";

test.each<{ spec: object; says: unknown[] }>([
  { spec: patch({}), says: [] },
  { spec: patch({ applyTo: undefined }), says: ["error configPatches[0]: missing applyTo"] },
  { spec: patch({ patch: undefined }), says: ["error configPatches[0]: missing patch operation"] },
  { spec: patch({ patch: { value: {} } }), says: ["error configPatches[0]: missing patch operation"] },
  {
    spec: patch({ patch: { operation: "ADD" } }),
    says: ["error configPatches[0]: missing patch value for non-remove operation"],
  },
  { spec: patch(removal), says: [] },
  {
    spec: { workloadSelector: {}, ...patch({}) },
    says: ["warning workloadSelector: a selector without labels selects every workload of the namespace"],
  },
  {
    spec: patch({ match: { proxy: { proxyVersion: "^1(?=2)" } } }),
    says: [expect.stringContaining("error configPatches[0].match.proxy.proxyVersion: invalid regex for proxy version")],
  },
  {
    spec: patch({ match: { proxy: { proxyVersion: "a".repeat(1025) } } }),
    says: [
      "warning configPatches[0].match.proxy.proxyVersion: proxyVersion match exceeds 1024 characters: the patch is for no proxy",
    ],
  },
  {
    spec: patch({ match: { listener: {} } }),
    says: [
      "error configPatches[0].match.listener: applyTo CLUSTER goes with a match on cluster, found one on listener",
    ],
  },
  { spec: filterMatch("NETWORK_FILTER", {}), says: [`error ${IN_FILTER}.name: filter match has no name to match on`] },
  {
    spec: filterMatch("NETWORK_FILTER", { name: MANAGER, subFilter: { name: "x" } }),
    says: [`error ${IN_FILTER}.subFilter: subfilter match can be used with applyTo HTTP_FILTER only`],
  },
  {
    spec: filterMatch("HTTP_FILTER", { name: "other", subFilter: { name: "x" } }),
    says: [`error ${IN_FILTER}.subFilter: subfilter match requires filter match with ${MANAGER}`],
  },
  {
    spec: filterMatch("HTTP_FILTER", { name: MANAGER, subFilter: {} }),
    says: [`error ${IN_FILTER}.subFilter.name: subfilter match has no name to match on`],
  },
  {
    spec: filterMatch("FILTER_CHAIN", { name: MANAGER }),
    says: [`warning ${IN_FILTER}: filter match has no effect when used with FILTER_CHAIN`],
  },
  {
    spec: patch({ applyTo: "BOOTSTRAP", patch: { operation: "MERGE", value: { stats_flush_interval: "7s" } } }),
    says: [],
  },
  {
    spec: patch({ applyTo: "BOOTSTRAP", patch: { operation: "ADD", value: { stats_flush_interval: "7s" } } }),
    says: ["warning configPatches[0]: operation ADD has no effect on BOOTSTRAP"],
  },
  {
    spec: patch({ applyTo: "BOOTSTRAP", patch: { operation: "MERGE", value: { flush: "7s" } } }),
    says: [
      "warning configPatches[0].patch.value: the patch is left out: envoy.config.bootstrap.v3.Bootstrap has no member flush",
    ],
  },
  { spec: patch({ match: { context: "GATEWAY" } }), says: [] },
  {
    spec: patch({ match: { context: "WAYPOINT" } }),
    says: ["warning configPatches[0]: context WAYPOINT has no effect: there are no waypoints"],
  },
  {
    spec: patch({ patch: { operation: "REPLACE", value: {} } }),
    says: ["warning configPatches[0]: operation REPLACE has no effect on CLUSTER"],
  },
  {
    spec: patch({ patch: { operation: "MERGE", value: { connect_timout: "1s" } } }),
    says: [
      "warning configPatches[0].patch.value: the patch is left out: envoy.config.cluster.v3.Cluster has no member connect_timout",
    ],
  },
])("EnvoyFilter $spec: $says", ({ spec, says }) => {
  expect(problemsOf("networking.istio.io/v1alpha3", "EnvoyFilter", spec)).toEqual(says);
});

const tag = (given: object) => ({ metrics: [{ overrides: [{ tagOverrides: { a: given } }] }] });
const custom = (given: object) => ({ tracing: [{ customTags: { a: given } }] });

test.each<{ spec: object; says: unknown[] }>([
  { spec: {}, says: [] },
  { spec: { accessLogging: [{ providers: [{ name: "envoy" }], filter: { expression: "a > 1" } }] }, says: [] },
  {
    spec: { accessLogging: [{ providers: [{}] }] },
    says: ["error accessLogging[0].providers[0].name: providers.name may not be empty"],
  },
  {
    spec: { accessLogging: [{ filter: { expression: "a >" } }, { filter: {} }] },
    says: [
      "error accessLogging[0].filter.expression: syntax error: the expression ends too early",
      "error accessLogging[1].filter.expression: expression must not be empty",
    ],
  },
  {
    spec: { selector: { matchLabels: { a: "*" } } },
    says: ["error selector.matchLabels.a: wildcard is not supported in selector: a: *"],
  },
  {
    spec: { selector: {}, targetRefs: [{ group: "", kind: "Service", name: "s" }] },
    says: [
      expect.stringMatching(/^warning targetRefs: has no effect/),
      "error : only one of targetRefs or workloadSelector can be set",
    ],
  },
  { spec: { metrics: [{}] }, says: [] },
  {
    spec: tag({}),
    says: ["error metrics[0].overrides[0].tagOverrides.a: tagOverrides.value must be set when operation is UPSERT"],
  },
  {
    spec: tag({ operation: "REMOVE", value: "x" }),
    says: ["error metrics[0].overrides[0].tagOverrides.a: tagOverrides.value may only be set when operation is UPSERT"],
  },
  {
    spec: { metrics: [{ overrides: [{ match: { customMetric: "" } }] }] },
    says: ["error metrics[0].overrides[0].match.customMetric: customMetric may not be empty"],
  },
  {
    spec: { metrics: [{ reportingInterval: "5s", overrides: [{ match: { customMetric: "mine" } }] }] },
    says: [
      "warning metrics[0].reportingInterval: reportingInterval has no effect: connections are counted when they open and close",
      "warning metrics[0].overrides[0].match.customMetric: customMetric has no effect: Envoy counts the standard metrics",
    ],
  },
  {
    spec: { metrics: [{ overrides: [{ match: { metric: "GRPC_REQUEST_MESSAGES" } }] }] },
    says: [],
  },
  {
    spec: tag({ operation: "UPSERT", value: "request.host ==" }),
    says: ["error metrics[0].overrides[0].tagOverrides.a: syntax error: the expression ends too early"],
  },
  {
    spec: { tracing: [{ randomSamplingPercentage: 101 }] },
    says: ["error tracing[0].randomSamplingPercentage: randomSamplingPercentage must be in range [0.0, 100.0]"],
  },
  {
    spec: custom({ literal: {} }),
    says: ["error tracing[0].customTags.a.literal: literal tag value may not be empty"],
  },
  {
    spec: custom({ header: {} }),
    says: ["error tracing[0].customTags.a.header: header tag name may not be empty"],
  },
  {
    spec: custom({ environment: {} }),
    says: ["error tracing[0].customTags.a.environment: environment tag name may not be empty"],
  },
])("Telemetry $spec: $says", ({ spec, says }) => {
  expect(problemsOf("telemetry.istio.io/v1", "Telemetry", spec)).toEqual(says);
});
