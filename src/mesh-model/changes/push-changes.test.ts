import { expect, test } from "vitest";
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
