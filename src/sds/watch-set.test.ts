import { describe, expect, test } from "vitest";
import type { SecretSource } from "./secret-source.ts";
import { WatchSet } from "./watch-set.ts";

/** A source that knows who listens for what. */
function setUp() {
  const listeners = new Map<string, Set<() => void>>();
  const source: SecretSource = {
    get: async () => undefined,
    onChange: (name, listener) => {
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known.add(listener));
      return () => {
        known.delete(listener);
        if (known.size === 0) listeners.delete(name);
      };
    },
  };
  const changed: string[] = [];
  return {
    watches: new WatchSet(source, (name) => void changed.push(name)),
    changed,
    listened: () => [...listeners.keys()].sort(),
    change: (name: string) => {
      for (const listener of listeners.get(name) ?? []) listener();
    },
  };
}

describe("listeners", () => {
  test("are those of the names that are watched now", () => {
    const { watches, listened } = setUp();
    watches.watch(new Set(["default", "ROOTCA"]));
    expect(listened()).toEqual(["ROOTCA", "default"]);
    watches.watch(new Set(["ROOTCA", "file-root:x"]));
    expect(listened()).toEqual(["ROOTCA", "file-root:x"]);
    expect([watches.has("default"), watches.has("ROOTCA")]).toEqual([false, true]);
  });

  test("are one for each name, however often it is asked for", () => {
    const { watches, changed, change } = setUp();
    for (let request = 0; request < 3; request += 1) watches.watch(new Set(["default"]));
    change("default");
    expect(changed).toEqual(["default"]);
  });

  test("are gone when the stream is", () => {
    const { watches, changed, listened, change } = setUp();
    watches.watch(new Set(["default", "ROOTCA"]));
    watches.close();
    watches.close();
    change("default");
    expect(listened()).toEqual([]);
    expect(changed).toEqual([]);
  });
});

describe("what the client got", () => {
  test("is known by its version", () => {
    const { watches } = setUp();
    watches.watch(new Set(["default"]));
    expect(watches.wasSent("default")).toBe(false);
    watches.markSent("default", "v1");
    expect([watches.isSent("default", "v1"), watches.isSent("default", "v2")]).toEqual([true, false]);
    watches.markSent("default", "v2");
    expect([watches.isSent("default", "v1"), watches.isSent("default", "v2")]).toEqual([false, true]);
  });

  test("is forgotten when it was told that it is gone", () => {
    const { watches } = setUp();
    watches.watch(new Set(["default"]));
    watches.markSent("default", "v1");
    watches.forget("default");
    expect([watches.wasSent("default"), watches.isSent("default", "v1")]).toEqual([false, false]);
    expect(watches.has("default")).toBe(true);
  });

  test("is forgotten with the subscription, so that it is sent again after another one", () => {
    const { watches } = setUp();
    watches.watch(new Set(["default"]));
    watches.markSent("default", "v1");
    watches.watch(new Set());
    watches.watch(new Set(["default"]));
    expect(watches.wasSent("default")).toBe(false);
  });

  test("is not kept for a name that nobody watches any more", () => {
    const { watches } = setUp();
    watches.markSent("default", "v1");
    watches.watch(new Set(["default"]));
    expect(watches.wasSent("default")).toBe(false);
  });
});
