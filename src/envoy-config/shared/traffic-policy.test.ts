import { expect, test } from "vitest";
import { ruleOf } from "../../../test/support/discovery/policy.ts";
import { effectivePolicy, findSubset } from "./traffic-policy.ts";

const rule = ruleOf(`
  host: stock
  trafficPolicy:
    loadBalancer: {simple: ROUND_ROBIN}
    connectionPool: {tcp: {maxConnections: 100}}
    retryBudget: {percent: 10}
    portLevelSettings:
    - {port: {number: 9090}, loadBalancer: {simple: RANDOM}}
    - {port: {number: 9090}, loadBalancer: {simple: LEAST_REQUEST}}
  subsets:
  - {name: bare, labels: {version: v0}}
  - name: v1
    labels: {version: v1}
    trafficPolicy: {outlierDetection: {consecutive5xxErrors: 7}, proxyProtocol: {version: V2}}
  - name: v2
    labels: {version: v2}
    trafficPolicy:
      connectionPool: {http: {maxRetries: 5}}
      portLevelSettings:
      - {port: {number: 8080}, tls: {mode: DISABLE}}
  - name: v3
    labels: {version: v3}
    trafficPolicy:
      proxyProtocol: {version: V2}
      portLevelSettings:
      - {port: {number: 7070}, tls: {mode: DISABLE}}
`);

test.each([
  { port: 8080, subset: "", has: { loadBalancer: "ROUND_ROBIN", pool: "tcp", retryBudget: 10 } },
  { port: 9090, subset: "", has: { loadBalancer: "RANDOM" } },
  { port: 8080, subset: "bare", has: { loadBalancer: "ROUND_ROBIN", pool: "tcp", retryBudget: 10 } },
  { port: 8080, subset: "unknown", has: { loadBalancer: "ROUND_ROBIN", pool: "tcp", retryBudget: 10 } },
  {
    port: 8080,
    subset: "v1",
    has: { loadBalancer: "ROUND_ROBIN", pool: "tcp", outliers: 7, proxyProtocol: "V2", retryBudget: 10 },
  },
  { port: 9090, subset: "v1", has: { loadBalancer: "RANDOM", outliers: 7, proxyProtocol: "V2" } },
  { port: 8080, subset: "v2", has: { tls: "DISABLE", retryBudget: 10 } },
  { port: 9090, subset: "v2", has: { loadBalancer: "RANDOM", pool: "http" } },
  { port: 7070, subset: "v3", has: { tls: "DISABLE", retryBudget: 10 } },
])("port $port of subset '$subset' has $has", ({ port, subset, has }) => {
  const { loadBalancer, connectionPool, outlierDetection, tls, proxyProtocol, retryBudget } = effectivePolicy(
    rule,
    port,
    subset,
  );
  expect({
    loadBalancer: loadBalancer?.simple,
    pool: connectionPool && (connectionPool.tcp ? "tcp" : "http"),
    outliers: outlierDetection?.consecutive5xxErrors,
    tls: tls?.mode,
    proxyProtocol: proxyProtocol?.version,
    retryBudget: retryBudget?.percent,
  }).toEqual({
    ...{ loadBalancer: undefined, pool: undefined, outliers: undefined, tls: undefined },
    ...{ proxyProtocol: undefined, retryBudget: undefined },
    ...has,
  });
});

test("without a rule, or without its policy, nothing is set", () => {
  expect(effectivePolicy(undefined, 80, "v1")).toEqual({});
  expect(effectivePolicy(ruleOf("host: a"), 80, "")).toEqual({});
});

test("subsets are found by name", () => {
  expect(findSubset(rule, "v1")?.labels).toEqual({ version: "v1" });
  expect(findSubset(rule, "v9")).toBeUndefined();
  expect(findSubset(undefined, "v1")).toBeUndefined();
});
