import { expect, test } from "vitest";
import { formatRfc3339 } from "./sds-context.ts";

test.each([
  { offset: 0, text: "2026-03-01T12:00:00Z" },
  { offset: 60, text: "2026-03-01T13:00:00+01:00" },
  { offset: -210, text: "2026-03-01T08:30:00-03:30" },
  { offset: 765, text: "2026-03-02T00:45:00+12:45" },
])("$offset minutes east of Greenwich it is $text", ({ offset, text }) => {
  expect(formatRfc3339(Date.UTC(2026, 2, 1, 12, 0, 0, 999), offset)).toBe(text);
});
