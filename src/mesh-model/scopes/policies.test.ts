import { expect, test } from "vitest";
import { conditionKey, metConditions, type ProxyCondition } from "./policies.ts";

const condition = (proxyVersion: string, metadata: Readonly<Record<string, string>> = {}): ProxyCondition => ({
  proxyVersion,
  metadata,
});
const node = { istioVersion: "1.24.1", metadata: { TIER: "gold", LABELS: { app: "web" } } };
const meets = (one: ProxyCondition, given: { istioVersion: string; metadata: object } = node) =>
  metConditions(given as typeof node, new Map([["key", one]])).length === 1;

test("conditions that ask for nothing have no key, those that ask for the same have one", () => {
  expect(conditionKey(undefined)).toBe("");
  expect(conditionKey(condition(""))).toBe("");
  expect(conditionKey(condition("^1", { a: "1", b: "2" }))).toBe(conditionKey(condition("^1", { b: "2", a: "1" })));
  expect(conditionKey(condition("^1"))).not.toBe(conditionKey(condition("", { "^1": "" })));
});

test.each([
  { asked: condition("^1\\.24"), is: true },
  { asked: condition("24"), is: true },
  { asked: condition("^1\\.2$"), is: false },
  { asked: condition("("), is: false },
  { asked: condition(`1|${"x".repeat(1024)}`), is: false },
  { asked: condition("", { TIER: "gold" }), is: true },
  { asked: condition("^1", { TIER: "lead" }), is: false },
  { asked: condition("", { NOBODY: "x" }), is: false },
  { asked: condition("", { LABELS: "web" }), is: false },
])("a proxy meets $asked.proxyVersion $asked.metadata: $is", ({ asked, is }) => {
  expect(meets(asked)).toBe(is);
});

test("a proxy without version meets no condition on it", () => {
  expect(meets(condition(".*"), { ...node, istioVersion: "" })).toBe(false);
});
