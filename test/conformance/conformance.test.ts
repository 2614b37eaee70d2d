import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { skipWith } from "../support/skip-with.ts";
import { FAMILIES } from "./families.ts";
import { goldenPath, needsGoldenData } from "./golden-data.ts";

for (const family of FAMILIES) {
  const dir = goldenPath(family.name);
  const cases = existsSync(dir) ? await family.load(dir) : [];
  describe(family.name, () => {
    test("golden data is present", (context) => {
      needsGoldenData(context, dir);
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
