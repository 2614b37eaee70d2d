import { expect, test } from "vitest";
import { createWallClock } from "./wall-clock.ts";

test("the clock has fractions of milliseconds and follows corrections of the system's clock", () => {
  let [monotonic, system] = [10.25, 1_000_000];
  const now = createWallClock(
    () => monotonic,
    () => system,
  );
  expect(now()).toBe(1_000_000);
  [monotonic, system] = [10.75, 1_000_000];
  expect(now()).toBe(1_000_000.5);
  [monotonic, system] = [1010.25, 1_001_000];
  expect(now()).toBe(1_001_000);
  system = 500_000;
  expect(now()).toBe(500_000);
  [monotonic, system] = [1020.25, 500_010];
  expect(now()).toBe(500_010);
});
