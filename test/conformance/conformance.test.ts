import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skipWith } from "../support/skip-with.ts";
import { FAMILIES } from "./families.ts";

const root = process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../shared/conformance");

for (const family of FAMILIES) {
  const dir = join(root, family.name);
  const cases = existsSync(dir) ? await family.load(dir) : [];
  describe(family.name, () => {
    // Golden data lives outside the project; without it there is nothing to compare, which is a notice and no failure.
    test("golden data is present", (context) => {
      if (!existsSync(dir)) skipWith(context, `notice: no golden cases at ${dir} (set CONFORMANCE_DIR)`);
      expect(cases.length).toBeGreaterThan(0);
    });
    for (const entry of cases) {
      test(entry.name, async (context) => {
        if (entry.unsupported !== undefined) skipWith(context, `notice: ${entry.unsupported}`);
        expect(await entry.run()).toBeUndefined();
      });
    }
  });
}
