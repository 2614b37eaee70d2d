import { test } from "vitest";
import { anyArguments, anyText, anyTokens } from "../../test/support/template/hostile-text.ts";

test("thirty thousand random texts give a value or a coded error", () => {
  anyText(12_000);
  anyTokens(10_000);
  anyArguments(8_000);
});
