import { expect, test } from "vitest";
import { createSnapshotCache } from "./snapshot-cache.ts";

test("a value is made once, and its maker sees the one before", () => {
  const first = createSnapshotCache<string>();
  expect(first.getOrBuild("k", (before) => `${before}1`)).toBe("undefined1");
  expect(first.getOrBuild("k", () => "never")).toBe("undefined1");
  const second = createSnapshotCache(first);
  expect(second.getOrBuild("k", (before) => `${before}2`)).toBe("undefined12");
  expect(second.getOrBuild("other", (before) => String(before))).toBe("undefined");
});

test("a key that no one asks for is remembered for eight generations", () => {
  let values = createSnapshotCache<string>();
  values.getOrBuild("k", () => "v");
  for (let idle = 0; idle < 8; idle += 1) values = createSnapshotCache(values);
  expect(createSnapshotCache(values).latest().has("k")).toBe(false);
  expect(values.getOrBuild("k", (before) => before ?? "lost")).toBe("v");
});
