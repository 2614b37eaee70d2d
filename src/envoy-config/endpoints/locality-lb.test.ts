import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import { meshOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { localityBalancing, localitySetting } from "./locality-lb.ts";

const OFF = "localityLbSetting: {enabled: false}";
const MESH_FAILOVER = "localityLbSetting: {failover: [{from: r1, to: r2}]}";
const OWN = (setting: string, more = "") => `{loadBalancer: {localityLbSetting: ${setting}}${more}}`;
const OUTLIERS = ", outlierDetection: {}";

test.each([
  { mesh: "", policy: "{loadBalancer: {}}", priorities: false, weighted: false },
  { mesh: "", policy: "{outlierDetection: {}}", priorities: true, weighted: false },
  { mesh: MESH_FAILOVER, policy: "{outlierDetection: {}}", priorities: true, weighted: true },
  { mesh: MESH_FAILOVER, policy: "{loadBalancer: {}}", priorities: false, weighted: false },
  { mesh: "", policy: OWN("{failover: [{from: r1, to: r2}]}"), priorities: false, weighted: false },
  { mesh: "", policy: OWN("{failover: [{from: r1, to: r2}]}", OUTLIERS), priorities: true, weighted: true },
  { mesh: "", policy: OWN("{failoverPriority: [rack]}", OUTLIERS), priorities: true, weighted: true },
  { mesh: "", policy: OWN("{distribute: [{from: r1, to: {r1: 100}}]}"), priorities: false, weighted: true },
  { mesh: "", policy: OWN("{distribute: [{from: r1, to: {r1: 100}}]}", OUTLIERS), priorities: false, weighted: true },
  { mesh: OFF, policy: OWN("{failoverPriority: [rack]}", OUTLIERS), priorities: true, weighted: true },
  { mesh: MESH_FAILOVER, policy: OWN("{}", OUTLIERS), priorities: true, weighted: false },
])(
  "mesh '$mesh' with $policy: priorities $priorities, weighted $weighted",
  ({ mesh, policy, priorities, weighted }) => {
    const setting = localitySetting(meshOfCase(mesh), policyOf(policy), {});
    expect(setting?.hasPriorities).toBe(priorities);
    expect(localityBalancing(setting)).toEqual(weighted ? { localityWeightedLbConfig: {} } : {});
  },
);

test.each([
  { mesh: OFF, policy: "{outlierDetection: {}}" },
  { mesh: "", policy: OWN("{enabled: false}", OUTLIERS) },
])("mesh '$mesh' with $policy: places do not matter", ({ mesh, policy }) => {
  const setting = localitySetting(meshOfCase(mesh), policyOf(policy), {});
  expect(setting).toBeUndefined();
  expect(localityBalancing(setting)).toEqual({});
});

const ZONES = "zoneAwareLbSetting: {minClusterSize: 4, failover: [{from: r1, to: r2}]}";

test.each([
  { mesh: ZONES, policy: "{loadBalancer: {}}", zones: { minClusterSize: "4" } },
  { mesh: ZONES, policy: OWN("{}", OUTLIERS), zones: undefined },
  { mesh: ZONES, policy: "{loadBalancer: {zoneAwareLbSetting: {enabled: false}}}", zones: { routingEnabled: {} } },
  { mesh: MESH_FAILOVER, policy: "{loadBalancer: {zoneAwareLbSetting: {}}}", zones: {} },
])("mesh '$mesh' with $policy: zones are balanced by $zones", ({ mesh, policy, zones }) => {
  const setting = localitySetting(meshOfCase(mesh), policyOf(policy), {});
  expect(setting?.zoneAware).toEqual(zones);
  expect(localityBalancing(setting)).toEqual(zones === undefined ? {} : { zoneAwareLbConfig: zones });
});

test("a service that asks for near endpoints has priorities without outlier detection", () => {
  const near = localitySetting(meshOfCase(), {}, { trafficDistribution: "PreferSameZone" });
  expect(near).toMatchObject({
    hasPriorities: true,
    failoverPriority: expect.arrayContaining(["topology.kubernetes.io/zone"]),
  });
  const ruled = localitySetting(meshOfCase(), policyOf(OWN("{failoverPriority: [rack]}")), {
    trafficDistribution: "PreferSameZone",
  });
  expect(ruled).toMatchObject({ hasPriorities: false, failoverPriority: ["rack"] });
});
