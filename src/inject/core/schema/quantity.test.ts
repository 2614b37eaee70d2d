import { expect, test } from "vitest";
import { canonicalQuantity } from "./quantity.ts";

test.each([
  ["2000m", "2"],
  ["0.5", "500m"],
  ["1024Mi", "1Gi"],
  ["1.5Gi", "1536Mi"],
  ["100m", "100m"],
  ["0", "0"],
  ["0m", "0"],
  ["1000", "1k"],
  ["1500", "1500"],
  ["1e3", "1e3"],
  ["0.5Ki", "512"],
  ["-2000m", "-2"],
  ["123456789012345678", "123456789012345678"],
  ["0.0000000001", "1n"],
])("%s is printed as %s", (given, printed) => {
  expect(canonicalQuantity(given)).toBe(printed);
});

test.each(["", "invalid", "1 Gi", "1KB", "--1", "1e", "."])("%j is not a quantity", (text) => {
  expect(canonicalQuantity(text)).toBeUndefined();
});
