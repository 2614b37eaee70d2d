import { expect, test } from "vitest";
import { createLogLimit } from "./log-limit.ts";

test("each subject gets one line per interval", () => {
  let time = 0;
  const isDue = createLogLimit(1_000, () => time);
  const seen = [0, 10, 999, 1_000, 1_500, 2_000].map((at) => {
    time = at;
    return isDue("a");
  });
  expect(seen).toEqual([true, false, false, true, false, true]);
  expect(isDue("b")).toBe(true);
});
