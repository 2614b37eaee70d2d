import { describe, expect, test } from "vitest";
import { discoveryCases, goldenPath, needsGoldenData } from "../golden-data.ts";
import { compareClusters, compareEndpoints, compareListeners, compareNameTable, compareRoutes } from "./index.ts";
import type { Json } from "./json.ts";
import { mutations } from "./mutate.ts";

const cases = discoveryCases();

const STATISTICS = /\.(statPrefix|altStatName|shadowRulesStatPrefix)\b/;
const SECRET_SOURCE = /\.sdsConfig\b/;
/** Says nothing that its absence does not say: zero, one, the default, a member with nothing in it. */
const SAME_AS_ABSENT = /\.(match|locality|loadBalancingWeight|caseSensitive|type|serviceName|priority) removed$/;
const ISTIO_METADATA = /\.metadata( removed|\.filterMetadata( removed|\.istio\b))/;

const KINDS = {
  clusters: { compare: compareClusters, resources: cases.flatMap(({ clusters }) => clusters) },
  endpoints: { compare: compareEndpoints, resources: cases.flatMap(({ endpoints }) => endpoints) },
  listeners: { compare: compareListeners, resources: cases.flatMap(({ listeners }) => listeners) },
  routes: { compare: compareRoutes, resources: cases.flatMap(({ routes }) => routes) },
};

/** What the README beside the cases allows to be absent or other; nothing else may change unnoticed. */
const FREE: Readonly<Record<keyof typeof KINDS, readonly RegExp[]>> = {
  clusters: [
    STATISTICS,
    SECRET_SOURCE,
    SAME_AS_ABSENT,
    ISTIO_METADATA,
    /\.(dnsJitter|typedDnsResolverConfig|cleanupInterval)\b/,
    /^\.transportSocketMatches\[[^\]]*\]\.name\b/,
    /\.transportSocket\.name\b/,
    /^\.transportSocketMatches\[tlsMode-disabled\]\.transportSocket removed/,
    /^\.commonLbConfig(\.healthyPanicThreshold)? removed/,
    /\.loadAssignment\.clusterName\b/,
    // Rules with SIMPLE or MUTUAL need no identities of sidecars; an empty context is none.
    /^\.transportSocket\..*\.defaultValidationContext(\.matchSubjectAltNames(\[\])?)? removed/,
    /^\.transportSocket\..*\.validationContext removed/,
  ],
  endpoints: [SAME_AS_ABSENT, ISTIO_METADATA],
  listeners: [
    STATISTICS,
    SECRET_SOURCE,
    ISTIO_METADATA,
    /^\.(listenerFiltersTimeout|maxConnectionsToAcceptPerSocketEvent)\b/,
    /\.(tracing|requestIdExtension|serverName|proxy100Continue|pathWithEscapedSlashesAction)\b/,
    /\.(transportSocketConnectTimeout|validateClusters|decorator|initialReadBufferSize|cipherSuites)\b/,
    /^\.(filterChains\[\]|defaultFilterChain)\.(name\b|filterChainMatch removed)/,
    /\.transportSocket\.name\b/,
    /\[envoy\.filters\.(http\.(grpc_stats|fault|cors)|network\.mongo_proxy)\]/,
    // Offering fewer protocols is stricter.
    /\.alpnProtocols\[\] removed$/,
    /\.routeConfig\.virtualHosts\[\]\.routes\[\]\.name\b/,
    // Port 0 says nothing.
    /\.filterDisabled\.orMatch\.rules\[\](\.destinationPortRange)? removed$/,
  ],
  routes: [
    SAME_AS_ABSENT,
    ISTIO_METADATA,
    /\.(decorator|validateClusters|maxDirectResponseBodySizeBytes|includeRequestAttemptCount)\b/,
    // Trailing-dot domains, and the names of routes that no user named.
    /^\.virtualHosts\[\]\.domains\[\]( removed)?$/,
    /^\.virtualHosts\[\]\.routes\[\]\.name\b/,
  ],
};

test("golden cases are there to be mutated", (context) => {
  needsGoldenData(context, goldenPath("discovery"));
  expect(cases.length).toBeGreaterThan(30);
});

for (const [kind, { compare, resources }] of Object.entries(KINDS)) {
  test(`${kind}: a golden answer is equal to itself`, () => {
    for (const resource of resources) expect(compare([resource], [resource])).toEqual([]);
  });

  test(`${kind}: every change of one place is found, but for what may differ`, () => {
    const tried = new Map<string, number>();
    const unnoticed = new Set<string>();
    // The smallest first: each place is tried where comparing costs least.
    const bySize = resources.map((resource) => ({ resource, size: JSON.stringify(resource).length }));
    for (const { resource } of bySize.sort((a, b) => a.size - b.size)) {
      for (const { path, apply } of mutations(resource)) {
        const times = tried.get(path) ?? 0;
        if (times >= 2) continue;
        tried.set(path, times + 1);
        const isFree = FREE[kind as keyof typeof KINDS].some((pattern) => pattern.test(path));
        if (!isFree && compare([resource], [apply() as Json]).length === 0) unnoticed.add(path);
      }
    }
    expect([...unnoticed]).toEqual([]);
  }, 300_000);
}

describe("name tables", () => {
  const golden = { table: { a: { ips: ["10.0.0.1", "10.0.0.2"], registry: "External" }, b: { ips: ["10.0.0.3"] } } };

  test("every change is found", () => {
    for (const { path, apply } of mutations(golden)) {
      expect(compareNameTable(golden, apply() as Json), path).not.toEqual([]);
    }
  });

  test("addresses have no order", () => {
    const turned = { table: { ...golden.table, a: { ips: ["10.0.0.2", "10.0.0.1"], registry: "External" } } };
    expect(compareNameTable(golden, turned)).toEqual([]);
  });
});
