import { expect, test } from "vitest";
import { deepFreeze } from "../base/deep-freeze.ts";
import { ConfigError, describeProblem, joinConfigErrors } from "./config-error.ts";

test.each([
  { problem: { source: "flag --x", message: "is wrong" }, says: "flag --x: is wrong" },
  {
    problem: { source: "file f", field: "a.b", message: "is wrong", value: "v", allowed: "1..2" },
    says: 'file f, field a.b: is wrong (value "v"); allowed: 1..2',
  },
])("$says", ({ problem, says }) => expect(describeProblem(problem)).toBe(says));

test("no error joins to none and one to itself", () => {
  const one = new ConfigError("invalid-proxy-config", "a", []);
  expect(joinConfigErrors([])).toBeUndefined();
  expect(joinConfigErrors([one])).toBe(one);
});

test("joined errors keep the first code, all texts and all problems", () => {
  const first = new ConfigError("invalid-proxy-type", "a\n\n", [{ source: "x", message: "a" }]);
  const second = new ConfigError("invalid-proxy-config", "b", [{ source: "y", message: "b" }]);
  const joined = joinConfigErrors([first, second]);
  expect(joined).toMatchObject({ code: "invalid-proxy-type", message: "a\nalso: b", name: "ConfigError" });
  expect(joined?.problems.map((problem) => problem.source)).toEqual(["x", "y"]);
});

test("freezing reaches plain members and leaves instances alone", () => {
  const map = new Map([["a", { b: 1 }]]);
  const frozen = deepFreeze({ list: [{ deep: {} }], map, call: () => 1 });
  expect([Object.isFrozen(frozen.list[0]?.deep), Object.isFrozen(map), frozen.call()]).toEqual([true, false, 1]);
});
