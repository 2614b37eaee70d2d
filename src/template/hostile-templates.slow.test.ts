import { test } from "vitest";
import { anyArguments, anyText, anyTokens } from "./testing/hostile-text.ts";

test("thirty thousand random texts give a value or a coded error", () => {
  anyText(12_000);
  anyTokens(10_000);
  anyArguments(8_000);
});
