import { describe, expect, test } from "vitest";
import type { LbEndpoint } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import { chooseEndpoints } from "./endpoints.ts";

const at = (address: string, more: Partial<LbEndpoint> = {}): LbEndpoint => ({
  endpoint: { address: { socketAddress: { address, portValue: 80 } } },
  ...more,
});
const sick = { healthStatus: "UNHEALTHY" } as const;
const NO_PANIC = { commonLbConfig: { healthyPanicThreshold: {} } };
const shares = (...given: Parameters<typeof chooseEndpoints>) =>
  Object.fromEntries(chooseEndpoints(...given).map(({ address, share }) => [address, Number(share.toFixed(3))]));

describe("which endpoints get requests", () => {
  test("weights share them", () => {
    const endpoints = [{ lbEndpoints: [at("a", { loadBalancingWeight: 3 }), at("b")] }];
    expect(shares(NO_PANIC, { endpoints })).toEqual({ a: 0.75, b: 0.25 });
  });

  test("a lower priority gets nothing while the first is healthy enough, and all when none is left", () => {
    const second = { priority: 1, lbEndpoints: [at("far")] };
    const mostlyHealthy = [{ lbEndpoints: [at("a"), at("b"), at("c"), at("d", sick)] }, second];
    expect(shares(NO_PANIC, { endpoints: mostlyHealthy })).toEqual({ a: 0.333, b: 0.333, c: 0.333 });
    expect(shares(NO_PANIC, { endpoints: [{ lbEndpoints: [at("a", sick)] }, second] })).toEqual({ far: 1 });
  });

  test("half a priority leaves the rest to the next", () => {
    const endpoints = [{ lbEndpoints: [at("a"), at("b", sick)] }, { priority: 1, lbEndpoints: [at("far")] }];
    expect(shares(NO_PANIC, { endpoints })).toEqual({ a: 0.7, far: 0.3 });
  });

  test("no healthy endpoint is none, unless the cluster panics", () => {
    const endpoints = [{ lbEndpoints: [at("a", sick), at("b", sick)] }];
    expect(shares(NO_PANIC, { endpoints })).toEqual({});
    expect(shares({}, { endpoints })).toEqual({ a: 0.5, b: 0.5 });
  });

  test("localities share by their own weights where the cluster asks for it", () => {
    const cluster = { commonLbConfig: { ...NO_PANIC.commonLbConfig, localityWeightedLbConfig: {} } };
    const endpoints = [
      { loadBalancingWeight: 80, lbEndpoints: [at("near"), at("near2")] },
      { loadBalancingWeight: 20, lbEndpoints: [at("far")] },
    ];
    expect(shares(cluster, { endpoints })).toEqual({ near: 0.4, near2: 0.4, far: 0.2 });
  });
});
