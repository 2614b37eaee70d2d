import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { workloadEntry } from "../../../test/support/discovery-objects.ts";
import { silentLogger } from "../../base/logger.ts";
import { combineStores } from "./combine-stores.ts";
import type { ConfigChange, ConfigStore } from "./config-store.ts";
import { createMemoryStore } from "./create-memory-store.ts";
import { startFileStore } from "./start-file-store.ts";

/** A store and the way to give it objects, whatever they are stored in. */
interface Setup extends AsyncDisposable {
  readonly store: ConfigStore;
  put(document: Record<string, unknown>): Promise<void>;
  remove(name: string): Promise<void>;
}

const memory = async (): Promise<Setup> => {
  const store = createMemoryStore({ now: () => 1000 });
  return {
    store,
    put: async (document) => void store.put(document),
    remove: async (name) => void store.delete({ kind: "WorkloadEntry", namespace: "prod", name }),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

const files = async (): Promise<Setup> => {
  const dir = await mkdtemp(join(tmpdir(), "store-"));
  const store = await startFileStore({ dir, log: silentLogger, quietMs: 5 });
  const fileOf = (document: Record<string, unknown>) =>
    join(dir, `${(document.metadata as { name: string }).name}.yaml`);
  return {
    store,
    put: (document) => writeFile(fileOf(document), JSON.stringify(document)),
    remove: (name) => rm(join(dir, `${name}.yaml`)),
    [Symbol.asyncDispose]: async () => {
      await store.stop();
      await rm(dir, { recursive: true });
    },
  };
};

const combined = async (): Promise<Setup> => {
  const inner = await memory();
  const store = combineStores([createMemoryStore(), inner.store]);
  return { ...inner, store, [Symbol.asyncDispose]: async () => store.close() };
};

const until = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 5 });

describe.each([
  { name: "memory", start: memory },
  { name: "files", start: files },
  { name: "combined", start: combined },
])("a config store in $name", ({ start }) => {
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
    const names = (namespace?: string) => setup.store.snapshot.list("WorkloadEntry", namespace).map(({ name }) => name);
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

describe("the memory store", () => {
  test("answers a put with the object or with everything that is wrong", () => {
    const store = createMemoryStore({ now: () => 5 });
    expect(store.put(workloadEntry("a"))).toMatchObject({
      stored: true,
      created: true,
      object: { creationTime: 5 },
      problems: [],
    });
    expect(store.put(workloadEntry("a", { weight: 2 }))).toMatchObject({ stored: true, created: false });
    expect(store.put(workloadEntry("b", { address: "a_b", ports: { x: 0 } }))).toEqual({
      stored: false,
      problems: [
        {
          field: "spec.address",
          severity: "error",
          message: 'endpoint address "a_b" is not a valid FQDN or an IP address',
        },
        { field: "spec.ports.x", severity: "error", message: "port number 0 must be in the range 1..65535" },
      ],
    });
    expect(store.put({ kind: "Pod" })).toEqual({
      stored: false,
      problems: [{ field: "kind", severity: "error", message: 'unknown kind "Pod"' }],
    });
    for (const junk of [undefined, null, 5, "x", [], () => 1]) expect(store.put(junk).stored).toBe(false);
    expect(store.delete({ kind: "WorkloadEntry", namespace: "prod", name: "b" })).toBe(false);
  });

  test("is not changed through a document that was put or read", () => {
    const store = createMemoryStore();
    const document = workloadEntry("a", { labels: { x: "1" } });
    store.put(document);
    (document.spec as { address: string }).address = "10.9.9.9";
    const object = store.snapshot.get("WorkloadEntry", "prod", "a");
    expect(object?.spec.address).toBe("10.0.0.1");
    expect(() => Object.assign(object?.spec.labels ?? {}, { x: "2" })).toThrow(TypeError);
  });
});

test("of two stores with the same object the earlier counts until it is gone there", () => {
  const [first, second] = [createMemoryStore(), createMemoryStore()];
  using store = Object.assign(combineStores([first, second]), { [Symbol.dispose]: () => undefined });
  second.put(workloadEntry("a", { address: "10.0.0.2" }));
  first.put(workloadEntry("a", { address: "10.0.0.1" }));
  const address = () => store.snapshot.get("WorkloadEntry", "prod", "a")?.spec.address;
  expect(address()).toBe("10.0.0.1");
  first.delete({ kind: "WorkloadEntry", namespace: "prod", name: "a" });
  expect(address()).toBe("10.0.0.2");
  store.close();
});
