import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import type { KubernetesErrorCode } from "../kubernetes/kubernetes-error.ts";
import type { ObjectWatch } from "./kubernetes-source.ts";
import { untilSynced } from "./until-synced.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<void>(() => undefined);

const watch = (synced: Promise<void>, problemCode?: KubernetesErrorCode): ObjectWatch => ({
  synced,
  freshness: () => ({
    provedAt: undefined,
    state: "waiting",
    resourceVersion: undefined,
    problem: problemCode && `cannot list things: ${problemCode}`,
    problemCode,
    isSynced: false,
    objects: 0,
    repaired: 0,
  }),
  stop: async () => undefined,
});
const known = watch(Promise.resolve());

/** What is missing, or "waits" when the waiting does not end by itself. */
const outcome = async (watches: readonly (readonly [string, ObjectWatch])[], needsSome = true) => {
  const log = recordLog();
  const ending = new AbortController();
  const ended = untilSynced({ watches, log, signal: ending.signal, deniedMs: 50, needsSome }).then(
    (missing) => ({ missing: [...missing], log: log.text() }),
    (thrown: Error) => ({ missing: thrown.message, log: log.text() }),
  );
  await vi.advanceTimersByTimeAsync(500);
  ending.abort(new Error("waits"));
  return ended;
};

test("when everything is known the wait is over, and nothing is missing", async () => {
  expect((await outcome([["pods", known]])).missing).toEqual([]);
});

test("a kind that is refused is waited for only so long, and named with verb and resource", async () => {
  const { missing, log } = await outcome([
    ["pods", known],
    ["nodes", watch(never, "forbidden")],
  ]);
  expect(missing).toEqual([["nodes", "cannot list things: forbidden"]]);
  expect(log).toContain("cannot list things: forbidden");
});

test.each([
  {
    name: "a server that is away",
    watches: [
      ["pods", known],
      ["nodes", watch(never, "unreachable")],
    ] as const,
  },
  {
    name: "a kind that takes long beside one that is refused",
    watches: [
      ["a", known],
      ["b", watch(never)],
      ["c", watch(never, "forbidden")],
    ] as const,
  },
  { name: "a server that shows nothing at all", watches: [["pods", watch(never, "forbidden")]] as const },
])("$name is waited for", async ({ watches }) => {
  expect((await outcome(watches)).missing).toBe("waits");
});

test("where nothing else depends on it, also a refused only kind ends the wait", async () => {
  expect((await outcome([["maps", watch(never, "forbidden")]], false)).missing).toHaveLength(1);
});
