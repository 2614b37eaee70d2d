import { expect, test } from "vitest";
import { asJsonObject, isJsonObject } from "./json-object.ts";

test.each([undefined, null, "text", 7, true, [], [{ a: 1 }]])("%j is not a JSON object and has no members", (value) => {
  expect(isJsonObject(value)).toBe(false);
  expect(asJsonObject(value)).toEqual({});
});

test("an object is itself, also one without prototype, as decoders make them", () => {
  const bare: unknown = Object.assign(Object.create(null), { a: 1 });
  for (const value of [{}, { a: [1] }, bare]) {
    expect(isJsonObject(value)).toBe(true);
    expect(asJsonObject(value)).toBe(value);
  }
});
