import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applyScopeLevels, scopesAt, scopesWithoutEffect } from "./scope-levels.ts";

const base = scopesAt("info");
const apply = (option: string) => applyScopeLevels(base, option);

test.each([
  { option: "", scope: "default", level: "info" },
  { option: "debug", scope: "default", level: "debug" },
  { option: "debug", scope: "dns", level: "info" },
  { option: "dns:error", scope: "dns", level: "error" },
  { option: "default:debug,all:info", scope: "default", level: "info" },
  { option: "all:warn,dns:debug", scope: "dns", level: "debug" },
  { option: "all:warn,dns:debug", scope: "sds", level: "warn" },
  { option: "foobar:debug", scope: "default", level: "info" },
  { option: "grpc:none", scope: "grpc", level: "none" },
])("'$option' puts $scope at $level", ({ option, scope, level }) => {
  expect(apply(option).get(scope)).toBe(level);
});

test.each([
  { option: "foobar", message: "invalid output level 'foobar'" },
  { option: "default:x", message: "invalid output level 'x'" },
  { option: "nobody:x", message: "invalid output level 'x'" },
  { option: "a:b:c", message: "invalid output level format 'a:b:c'" },
  { option: "default:info,,", message: "invalid output level ''" },
])("'$option' is refused: $message", ({ option, message }) => {
  expect(() => apply(option)).toThrow(message);
});

test.each([
  { option: "default:info,all:debug,dns:debug,googlecas:debug,warn", without: [] },
  { option: "delta:debug,dns:info,model:debug,delta:info", without: ["delta", "model"] },
  { option: "klog:debug", without: ["klog"] },
  { option: "", without: [] },
])("of '$option' nothing logs with $without", ({ option, without }) => {
  expect(scopesWithoutEffect(option)).toEqual(without);
});

test("the levels given are not modified", () => {
  apply("all:debug");
  expect(base.get("dns")).toBe("info");
});

test("every scope that a component logs in can be set by name and by all", () => {
  const src = join(import.meta.dirname, "../..");
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const used = sources.flatMap((name) =>
    [...readFileSync(join(src, name), "utf8").matchAll(/\.scope\("(\w+)"\)/g)].map((match) => match[1] ?? ""),
  );
  expect(used).toContain("dns");
  expect(used.filter((scope) => !base.has(scope))).toEqual([]);
});
