import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { FORCED_CHANGES, NO_CHANGES } from "../../mesh-model/changes/push-changes.ts";
import type { RuleProblem } from "../../mesh-model/push-snapshot.ts";
import { watchProblems } from "../connect-push.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const problem = (name: string, message = "loses"): RuleProblem => {
  return { object: { kind: "VirtualService", namespace: "default", name }, message };
};
const RULES = { ...NO_CHANGES, objects: [problem("v").object] };

function start(problems: readonly RuleProblem[]) {
  const state = { problems, looks: 0 };
  const log = recordLog();
  const registry = new MetricRegistry();
  const watch = watchProblems({
    snapshot: () => ({
      problems: () => {
        state.looks += 1;
        return state.problems;
      },
    }),
    repeatedHosts: registry.gauge({ name: "repeated", help: "Repeated." }),
    repeatedSubsets: registry.gauge({ name: "subsets", help: "Repeated." }),
    log,
    quietMs: 100,
  });
  const notices = () => log.lines.map(({ fields }) => fields.object ?? `${fields.more} more`);
  return { state, log, registry, watch, notices };
}

test("what is there at the start is reported, with the object and the reason", async () => {
  const { log, watch } = start([problem("a", "host x is ruled by another")]);
  await vi.advanceTimersByTimeAsync(100);
  expect(log.lines).toMatchObject([
    {
      level: "warn",
      fields: { object: "VirtualService default/a", reason: "host x is ruled by another" },
    },
  ]);
  await watch.stop();
});

test("rules that cannot be compared are reported, and looked at again with the next push", async () => {
  const { state, log, watch, notices } = start([undefined as unknown as RuleProblem]);
  await vi.advanceTimersByTimeAsync(100);
  expect(log.lines).toMatchObject([{ level: "error", message: "rules could not be compared" }]);
  state.problems = [problem("a")];
  watch.note(RULES);
  await vi.advanceTimersByTimeAsync(100);
  expect(notices().at(-1)).toBe("VirtualService default/a");
  await watch.stop();
});

test("a problem is reported when it appears, not again with each push, and again when it comes back", async () => {
  const { state, watch, notices } = start([problem("a")]);
  const push = async (problems: readonly RuleProblem[]) => {
    state.problems = problems;
    watch.note(RULES);
    await vi.advanceTimersByTimeAsync(100);
  };
  await push([problem("a"), problem("b")]);
  await push([problem("a"), problem("b")]);
  expect(notices()).toEqual(["VirtualService default/a", "VirtualService default/b"]);
  await push([problem("b")]);
  await push([problem("a"), problem("b")]);
  expect(notices().slice(2)).toEqual(["VirtualService default/a"]);
  await watch.stop();
});

test("a burst of pushes is looked at once, one of endpoints alone not at all", async () => {
  const { state, watch } = start([]);
  await vi.advanceTimersByTimeAsync(100);
  for (let push = 0; push < 9; push++) {
    watch.note(push % 2 === 0 ? FORCED_CHANGES : { ...NO_CHANGES, services: new Set(["s"]) });
    await vi.advanceTimersByTimeAsync(50);
  }
  await vi.advanceTimersByTimeAsync(100);
  expect(state.looks).toBe(2);
  watch.note({ ...NO_CHANGES, endpoints: new Set(["s"]) });
  await vi.advanceTimersByTimeAsync(1000);
  expect(state.looks).toBe(2);
  await watch.stop();
});

test("repeated hosts and subsets are counted, and the count falls again", async () => {
  const subsets = ["v1", "v2"].map((repeatedSubset) => ({ ...problem("a", repeatedSubset), repeatedSubset }));
  const { state, registry, watch } = start([{ ...problem("a"), repeatedHost: "x" }, problem("b"), ...subsets]);
  await vi.advanceTimersByTimeAsync(100);
  expect(registry.render()).toContain("repeated 1\n");
  expect(registry.render()).toContain("subsets 2\n");
  state.problems = [];
  watch.note(RULES);
  await vi.advanceTimersByTimeAsync(100);
  expect(registry.render()).toContain("repeated 0\n");
  expect(registry.render()).toContain("subsets 0\n");
  await watch.stop();
});

test("of very many the first are reported and the rest is a number", async () => {
  const { watch, notices } = start(Array.from({ length: 53 }, (_, at) => problem(`v${at}`)));
  await vi.advanceTimersByTimeAsync(100);
  expect(notices()).toHaveLength(51);
  expect(notices().at(-1)).toBe("3 more");
  await watch.stop();
});

test("after its end nothing is looked at", async () => {
  const { state, watch } = start([problem("a")]);
  await watch.stop();
  watch.note(FORCED_CHANGES);
  await vi.advanceTimersByTimeAsync(1000);
  expect(state.looks).toBe(0);
});
