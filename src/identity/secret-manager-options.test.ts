import { expect, test } from "vitest";
import { usableDebounceMs } from "./secret-manager-options.ts";

test.each([
  { wished: 100, used: 100 },
  { wished: 0, used: 10 },
  { wished: -5000, used: 10 },
  { wished: 2 ** 40, used: 10_000 },
])("a debounce of $wished ms is used as $used ms", ({ wished, used }) => {
  expect(usableDebounceMs(wished)).toBe(used);
});
