import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parseDuration } from "../base/duration.ts";
import { environmentReference } from "./environment-reference.ts";
import { ENVIRONMENT } from "./environment-table.ts";
import type { EnvironmentDefault, EnvironmentVariable } from "./environment-variable.ts";
import { GENERATIONS } from "./generations.ts";

const rows: readonly EnvironmentVariable[] = ENVIRONMENT;

test("docs/environment.md is what the table says (node scripts/generate-env-reference.mjs)", () => {
  const path = resolve(import.meta.dirname, "../../docs/environment.md");
  expect(readFileSync(path, "utf8")).toBe(environmentReference());
});

test("no name is listed twice", () => {
  expect(rows.map((row) => row.name).filter((name, at, names) => names.indexOf(name) !== at)).toEqual([]);
});

function fits(type: EnvironmentVariable["type"], value: EnvironmentDefault): boolean {
  switch (type) {
    case "bool":
      return typeof value === "boolean";
    case "int":
    case "json-int":
      return Number.isInteger(value);
    case "float":
      return typeof value === "number";
    case "duration":
      return typeof value === "string" && parseDuration(value) >= 0n;
    default:
      return typeof value === "string";
  }
}

describe.each(rows)("$name", (row) => {
  test("has defaults of its type", () => {
    expect([row.default, ...Object.values(row.defaults ?? {})].every((value) => fits(row.type, value))).toBe(true);
  });

  test("belongs to known generations and says what it does in a sentence", () => {
    expect(row.generations.length).toBeGreaterThan(0);
    expect(row.generations.every((name) => GENERATIONS.includes(name))).toBe(true);
    expect(row.effect).toMatch(/^[A-Za-z`].*\.$/);
  });
});

test("the reference names generations, exceptions and own additions", () => {
  const text = environmentReference([
    {
      name: "A",
      type: "bool",
      default: true,
      defaults: { "1.20": false },
      generations: ["master", "1.20"],
      component: "x",
      effect: "Does a|b.",
    },
    { name: "B", type: "string", default: "", generations: GENERATIONS, component: "y", effect: "Does b.", own: true },
  ]);
  expect(text).toContain("## x\n\n| name | type | default | generations | effect |");
  expect(text).toContain("| `A` | bool | `true`, `false` (1.20) | master, 1.20 | Does a\\|b. |");
  expect(text).toContain("| `B` | string | empty | all | Does b. Not known to the reference. |");
});
