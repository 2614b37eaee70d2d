import { expect, test } from "vitest";
import { needsPush } from "./changed-types.ts";
import { changesOfConfig, changesOfRegistry, FORCED_CHANGES, mergeChanges, NO_CHANGES } from "./push-changes.ts";

test("changes add up, each once, and forcing stays", () => {
  const config = changesOfConfig({
    changes: [
      { kind: "VirtualService", namespace: "a", name: "v", change: "added" },
      { kind: "ServiceEntry", namespace: "a", name: "s", change: "updated" },
      { kind: "WorkloadEntry", namespace: "a", name: "w", change: "deleted" },
    ],
  });
  const registry = changesOfRegistry({ updated: ["s1"], deleted: ["s2"], endpoints: ["s3"] });
  const both = mergeChanges(mergeChanges(config, registry), mergeChanges(registry, config));
  expect(both).toEqual({
    forced: false,
    objects: [{ kind: "VirtualService", namespace: "a", name: "v" }],
    services: new Set(["s1", "s2"]),
    endpoints: new Set(["s3"]),
    workloads: false,
  });
  expect(mergeChanges(both, FORCED_CHANGES).forced).toBe(true);
  expect(mergeChanges(NO_CHANGES, both)).toBe(both);
  expect(mergeChanges(both, NO_CHANGES)).toBe(both);
});

test.each([
  { kind: "ServiceEntry", sidecar: ["CDS", "EDS", "LDS", "RDS", "NDS"] },
  { kind: "Endpoints", sidecar: ["EDS"] },
  { kind: "WorkloadEntry", sidecar: ["EDS"] },
  { kind: "WorkloadGroup", sidecar: [] },
  { kind: "VirtualService", sidecar: ["CDS", "LDS", "RDS"] },
  { kind: "DestinationRule", sidecar: ["CDS", "EDS", "LDS", "RDS"] },
  { kind: "Sidecar", sidecar: ["CDS", "LDS", "RDS", "NDS"], router: [] },
  { kind: "Gateway", sidecar: [], router: ["CDS", "LDS", "RDS"] },
  { kind: "EnvoyFilter", sidecar: ["CDS", "EDS", "LDS", "RDS", "ECDS"] },
  { kind: "ProxyConfig", sidecar: [] },
  { kind: "PeerAuthentication", sidecar: ["CDS", "EDS", "LDS"] },
  { kind: "AuthorizationPolicy", sidecar: ["LDS"] },
  { kind: "RequestAuthentication", sidecar: ["LDS"] },
  { kind: "Telemetry", sidecar: ["LDS"] },
  { kind: "MeshConfig", sidecar: ["CDS", "EDS", "LDS", "RDS", "PCDS", "SDS"] },
] as const)("$kind can change $sidecar", ({ kind, sidecar, ...other }) => {
  const types = ["CDS", "EDS", "LDS", "RDS", "NDS", "ECDS", "PCDS", "SDS"] as const;
  expect(types.filter((type) => needsPush(type, [kind]))).toEqual(sidecar);
  const router = "router" in other ? other.router : sidecar;
  expect(types.filter((type) => needsPush(type, [kind], "router"))).toEqual(router);
});

test("several kinds need what one of them needs, no kind needs nothing", () => {
  expect(needsPush("EDS", ["Telemetry", "Endpoints"])).toBe(true);
  expect(needsPush("EDS", [])).toBe(false);
});
