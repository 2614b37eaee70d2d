import { expect, test } from "vitest";
import { MetricRegistry } from "../base/metric-registry.ts";
import type { MeshFigures } from "./mesh-figures.ts";
import { declareDiscoveryMetrics } from "./metrics.ts";

const FIGURES: MeshFigures = {
  services: 7,
  virtualServices: 6,
  servicesWithoutEndpoints: 4,
  endpointsWithoutPod: 4,
  endpointsNotReady: 3,
  dnsWithoutEndpoints: 2,
  sidecarsWithoutService: 1,
  conflicts: {
    pilot_conflict_outbound_listener_tcp_over_current_tcp: { "0.0.0.0_90": { proxy: "a", message: "m" } },
    pilot_conflict_inbound_listener: {},
    pilot_duplicate_envoy_clusters: { x: { proxy: "a", message: "m" }, y: { proxy: "a", message: "m" } },
  },
};

function declare() {
  const registry = new MetricRegistry();
  return { registry, metrics: declareDiscoveryMetrics(registry, () => 9) };
}

test("figures of the mesh are absent until there is one, and counted once for all series of a scrape", async () => {
  const { registry, metrics } = declare();
  expect(registry.render()).not.toContain("pilot_services");
  await Promise.resolve();
  let counted = 0;
  metrics.setMeshSource(() => {
    counted += 1;
    return { ...FIGURES, services: counted };
  });
  for (const line of ["pilot_services 1", "pilot_virt_services 6", "pilot_no_ip 1", "endpoint_no_pod 4"]) {
    expect(registry.render()).toContain(`\n${line}\n`);
  }
  expect(counted).toBe(1);
  await Promise.resolve();
  expect(registry.render()).toContain("pilot_services 2\n");
});

test("what generators count appears as counters that never fall", () => {
  const { registry, metrics } = declare();
  const counts = { hits: 5, misses: 2, evictions: 0, size: 2 };
  metrics.setCacheSource(counts);
  expect(registry.render()).toContain('xds_cache_reads{type="hit"} 5\nxds_cache_reads{type="miss"} 2\n');
  Object.assign(counts, { hits: 6, evictions: 2, size: 0 });
  const text = registry.render();
  expect(text).toContain('xds_cache_reads{type="hit"} 6\n');
  expect(text).toContain('xds_cache_evictions{type="clear"} 2\n');
  expect(text).toContain("xds_cache_size 0\n");
  expect(text).toContain("# TYPE xds_cache_reads counter\n");
  expect(text).toContain("# TYPE xds_cache_size gauge\n");
});

test.each([
  { name: "pilot_conflict_outbound_listener_tcp_over_current_tcp", count: 1 },
  { name: "pilot_conflict_inbound_listener", count: 0 },
  { name: "pilot_duplicate_envoy_clusters", count: 2 },
])("$name is the number of places asked for twice, $count", ({ name, count }) => {
  const { registry, metrics } = declare();
  metrics.setMeshSource(() => FIGURES);
  expect(registry.render()).toContain(`\n${name} ${count}\n`);
});

test("the build is reported in the words of the reference", () => {
  const text = declare().registry.render();
  expect(text).toMatch(/^pilot_info\{version="[^"]+-[^"]+-[^"]+"\} 1$/m);
  expect(text).toMatch(/^istio_build\{component="pilot",tag="[^"]+"\} 1$/m);
});
