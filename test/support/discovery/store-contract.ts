import { describe, expect, test, vi } from "vitest";
import type { ConfigChange, ConfigStore } from "../../../src/mesh-model/config-store.ts";
import { until } from "../wait/until.ts";
import { workloadEntry } from "./objects.ts";

/** A store and the way to give it objects, regardless of what they are stored in. */
export interface StoreSetup extends AsyncDisposable {
  readonly store: ConfigStore;
  put(document: Record<string, unknown>): Promise<void>;
  /** Takes a WorkloadEntry of namespace prod away. */
  remove(name: string): Promise<void>;
}

/** What every config store promises; run once per implementation. */
export function describeConfigStore(name: string, start: () => Promise<StoreSetup>): void {
  describe(`a config store: ${name}`, () => {
    test("has an object after it was put, typed by its kind, and tells that it was added", async () => {
      await using setup = await start();
      const seen: ConfigChange[] = [];
      setup.store.subscribe((change) => seen.push(change));
      const before = setup.store.snapshot;
      await setup.put(workloadEntry("a"));
      await until(() => expect(seen).toHaveLength(1));
      expect(seen[0]?.changes).toEqual([{ kind: "WorkloadEntry", namespace: "prod", name: "a", change: "added" }]);
      expect(seen[0]?.previous).toBe(before);
      expect(seen[0]?.snapshot).toBe(setup.store.snapshot);
      expect(setup.store.snapshot.version).toBe(before.version + 1);
      expect(setup.store.snapshot.get("WorkloadEntry", "prod", "a")?.spec.address).toBe("10.0.0.1");
      expect(before.get("WorkloadEntry", "prod", "a")).toBeUndefined();
    });

    test("tells of an update and a deletion, and keeps untouched objects the same values", async () => {
      await using setup = await start();
      await setup.put(workloadEntry("a"));
      await setup.put(workloadEntry("b"));
      await until(() => expect(setup.store.snapshot.all()).toHaveLength(2));
      const untouched = setup.store.snapshot.get("WorkloadEntry", "prod", "b");
      const seen: string[] = [];
      setup.store.subscribe(({ changes }) => seen.push(...changes.map(({ name, change }) => `${name} ${change}`)));
      await setup.put(workloadEntry("a", { address: "10.0.0.2" }));
      await until(() => expect(seen).toEqual(["a updated"]));
      await setup.remove("a");
      await until(() => expect(seen).toEqual(["a updated", "a deleted"]));
      expect(setup.store.snapshot.get("WorkloadEntry", "prod", "b")).toBe(untouched);
      expect(setup.store.snapshot.list("WorkloadEntry")).toEqual([untouched]);
    });

    test("says nothing when an object is put again unchanged", async () => {
      await using setup = await start();
      await setup.put(workloadEntry("a"));
      await until(() => expect(setup.store.snapshot.all()).toHaveLength(1));
      const seen: string[] = [];
      setup.store.subscribe(({ changes }) => seen.push(...changes.map(({ name }) => name)));
      await setup.put(workloadEntry("a"));
      await setup.put(workloadEntry("marker"));
      await until(() => expect(seen).toContain("marker"));
      expect(seen).toEqual(["marker"]);
    });

    test("lists by kind and namespace in the order in which objects win", async () => {
      await using setup = await start();
      const at = (document: Record<string, unknown>, creationTimestamp: string) => {
        return { ...document, metadata: { ...(document.metadata as object), creationTimestamp } };
      };
      await setup.put(at(workloadEntry("young"), "2026-01-02T00:00:00Z"));
      await setup.put(at(workloadEntry("old"), "2026-01-01T00:00:00Z"));
      await setup.put(at(workloadEntry("other", {}, "dev"), "2025-01-01T00:00:00Z"));
      await until(() => expect(setup.store.snapshot.all()).toHaveLength(3));
      const names = (namespace?: string) =>
        setup.store.snapshot.list("WorkloadEntry", namespace).map(({ name }) => name);
      expect(names()).toEqual(["other", "old", "young"]);
      expect(names("prod")).toEqual(["old", "young"]);
      expect(setup.store.snapshot.list("Sidecar")).toEqual([]);
      expect(setup.store.snapshot.list("WorkloadEntry")).toBe(setup.store.snapshot.list("WorkloadEntry"));
    });

    test("does not take a bad object, and keeps the good one that it would replace", async () => {
      await using setup = await start();
      await setup.put(workloadEntry("a"));
      await until(() => expect(setup.store.snapshot.all()).toHaveLength(1));
      await setup.put(workloadEntry("a", { address: "not_an_address" }));
      await setup.put(workloadEntry("marker"));
      await until(() => expect(setup.store.snapshot.get("WorkloadEntry", "prod", "marker")).toBeDefined());
      expect(setup.store.snapshot.get("WorkloadEntry", "prod", "a")?.spec.address).toBe("10.0.0.1");
    });

    test("does not call a listener that has left", async () => {
      await using setup = await start();
      const [stayed, left] = [vi.fn(), vi.fn()];
      setup.store.subscribe(stayed);
      setup.store.subscribe(left)();
      await setup.put(workloadEntry("a"));
      await until(() => expect(stayed).toHaveBeenCalled());
      expect(left).not.toHaveBeenCalled();
    });
  });
}
