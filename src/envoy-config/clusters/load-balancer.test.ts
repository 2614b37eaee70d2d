import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import { meshOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { localitySetting } from "../endpoints/locality-lb.ts";
import { commonBalancing, loadBalancing } from "./load-balancer.ts";

const WARM = {
  slowStartWindow: "30s",
  aggression: { defaultValue: 1, runtimeKey: "(" },
  minWeightPercent: { value: 10 },
};

test.each([
  { settings: "{}", gives: { lbPolicy: "LEAST_REQUEST" } },
  { settings: "{simple: UNSPECIFIED}", gives: { lbPolicy: "LEAST_REQUEST" } },
  { settings: "{simple: LEAST_CONN}", gives: { lbPolicy: "LEAST_REQUEST" } },
  { settings: "{simple: LEAST_REQUEST}", gives: { lbPolicy: "LEAST_REQUEST" } },
  { settings: "{simple: RANDOM}", gives: { lbPolicy: "RANDOM" } },
  { settings: "{simple: ROUND_ROBIN}", gives: {} },
  {
    settings: "{warmup: {duration: 30s}}",
    gives: { lbPolicy: "LEAST_REQUEST", leastRequestLbConfig: { slowStartConfig: WARM } },
  },
  {
    settings: "{simple: ROUND_ROBIN, warmup: {duration: 30s, minimumPercent: 20, aggression: 1.5}}",
    gives: {
      roundRobinLbConfig: {
        slowStartConfig: {
          ...WARM,
          aggression: { defaultValue: 1.5, runtimeKey: "(" },
          minWeightPercent: { value: 20 },
        },
      },
    },
  },
  {
    settings: "{simple: LEAST_REQUEST, warmupDurationSecs: 45s}",
    gives: { lbPolicy: "LEAST_REQUEST", leastRequestLbConfig: { slowStartConfig: { slowStartWindow: "45s" } } },
  },
  {
    settings: "{consistentHash: {httpHeaderName: x}}",
    gives: { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "1024" } },
  },
  {
    settings: "{consistentHash: {useSourceIp: true, minimumRingSize: 4096}}",
    gives: { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "4096" } },
  },
  {
    settings: "{consistentHash: {useSourceIp: true, ringHash: {minimumRingSize: 2048}}}",
    gives: { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "2048" } },
  },
  {
    settings: "{consistentHash: {useSourceIp: true, ringHash: {minimumRingSize: 99999999}}}",
    gives: { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "8388608" } },
  },
  { settings: "{consistentHash: {useSourceIp: true, ringHash: {}}}", gives: { lbPolicy: "RING_HASH" } },
  {
    settings: "{consistentHash: {useSourceIp: true, maglev: {tableSize: 5003}}}",
    gives: { lbPolicy: "MAGLEV", maglevLbConfig: { tableSize: "5003" } },
  },
])("$settings becomes $gives", ({ settings, gives }) => {
  expect(loadBalancing(policyOf(`{loadBalancer: ${settings}}`).loadBalancer)).toEqual(gives);
});

test("without settings the endpoint with the least requests is taken", () => {
  expect(loadBalancing(undefined)).toEqual({ lbPolicy: "LEAST_REQUEST" });
});

test.each([
  { policy: "{loadBalancer: {}}", gives: { healthyPanicThreshold: {} } },
  { policy: "{outlierDetection: {}}", gives: { healthyPanicThreshold: {} } },
  { policy: "{outlierDetection: {minHealthPercent: 40}}", gives: { healthyPanicThreshold: { value: 40 } } },
  {
    policy: "{loadBalancer: {localityLbSetting: {distribute: [{from: r1, to: {r1: 100}}]}}}",
    gives: { healthyPanicThreshold: {}, localityWeightedLbConfig: {} },
  },
  {
    policy: "{outlierDetection: {minHealthPercent: 7}, loadBalancer: {zoneAwareLbSetting: {minClusterSize: 3}}}",
    gives: { healthyPanicThreshold: { value: 7 }, zoneAwareLbConfig: { minClusterSize: "3" } },
  },
  {
    policy: "{loadBalancer: {zoneAwareLbSetting: {enabled: false}}}",
    gives: { healthyPanicThreshold: {}, zoneAwareLbConfig: { routingEnabled: {} } },
  },
])("$policy becomes $gives", ({ policy, gives }) => {
  const wanted = policyOf(policy);
  expect(commonBalancing(wanted, localitySetting(meshOfCase(), wanted, {})).commonLbConfig).toEqual(gives);
});

test("sessions may ask for endpoints that go away, and near endpoints first means no panic", () => {
  const wanted = policyOf("{outlierDetection: {minHealthPercent: 40}}");
  const near = { service: { trafficDistribution: "PreferSameZone" as const } };
  expect(commonBalancing(wanted, undefined, near).commonLbConfig).toEqual({ healthyPanicThreshold: {} });
  expect(commonBalancing({}, undefined, { keepsSessions: true }).commonLbConfig?.overrideHostStatus).toEqual({
    statuses: ["HEALTHY", "DRAINING", "UNKNOWN", "DEGRADED"],
  });
});

test("clusters without overrides share one value", () => {
  expect(commonBalancing({}, undefined)).toBe(commonBalancing({}, undefined));
});
