import fc from "fast-check";
import { expect, test } from "vitest";
import { joinChain, mergeRoots, splitBundle } from "./trust-bundle.ts";

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----`;

test("certificates of all sources appear once, sorted, without a newline at the end", () => {
  expect(mergeRoots(`${pem("b")}\n${pem("a")}\n`, `\n${pem("b")}`)).toBe(`${pem("a")}\n${pem("b")}`);
});

test("prose around certificates and blocks of other types are left out", () => {
  expect(splitBundle(`# my root\n${pem("a")}\ntext\n-----BEGIN X-----\nq\n-----END X-----\n`)).toEqual([pem("a")]);
});

test("nothing merged is nothing", () => {
  expect(mergeRoots("", "plain text")).toBe("");
});

test.each([
  { elements: [], chain: "" },
  { elements: ["a"], chain: "a" },
  { elements: ["a", "b"], chain: "a\nb" },
  { elements: ["a\n", "b"], chain: "a\nb" },
  { elements: ["a\n", "b\n"], chain: "a\nb\n" },
])("$elements join to $chain", ({ elements, chain }) => {
  expect(joinChain(elements)).toBe(chain);
});

test("merging is order-free, repeatable and keeps every certificate", () => {
  const bundle = fc.array(fc.stringMatching(/^[A-Za-z0-9+/]{1,8}$/)).map((bodies) => bodies.map(pem).join("\n"));
  fc.assert(
    fc.property(bundle, bundle, (left, right) => {
      const merged = mergeRoots(left, right);
      expect(mergeRoots(right, left)).toBe(merged);
      expect(mergeRoots(merged)).toBe(merged);
      expect(new Set(splitBundle(merged))).toEqual(new Set([...splitBundle(left), ...splitBundle(right)]));
    }),
  );
});
