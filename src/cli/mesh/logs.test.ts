import { expect, test } from "vitest";
import { parseSince } from "./logs.ts";

const NOW = Date.parse("2026-11-17T20:00:00Z");

test.each([
  { text: "10m", at: "2026-11-17T19:50:00.000Z" },
  { text: "1h30m", at: "2026-11-17T18:30:00.000Z" },
  { text: "2026-11-17T19:59:00Z", at: "2026-11-17T19:59:00.000Z" },
  { text: "2026-11-17", at: "2026-11-17T00:00:00.000Z" },
])("--since $text is $at", ({ text, at }) => {
  expect(new Date(parseSince(text, NOW)).toISOString()).toBe(at);
});

test.each(["-10m", "10", "yesterday", "2026-99-99"])("--since %s is refused with what is allowed", (text) => {
  expect(() => parseSince(text, NOW)).toThrow(`--since is "${text}", allowed are times before now such as 30s, 10m`);
});
