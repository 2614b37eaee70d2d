import { inspect } from "node:util";
import { expect, test } from "vitest";
import { formatJsonLine, formatTextLine } from "./log/format-line.ts";
import { Secret } from "./secret.ts";

const secret = new Secret("hunter2");
const line = {
  timeMs: 0,
  level: "info",
  scope: "",
  caller: undefined,
  message: "m",
  fields: { token: secret },
  stack: undefined,
} as const;

test.each([
  { form: "a template", text: `${secret}` },
  { form: "JSON", text: JSON.stringify({ secret }) },
  { form: "a debugger's print", text: inspect({ deep: { secret } }, { depth: 9, showHidden: true }) },
  { form: "a text log line", text: formatTextLine(line) },
  { form: "a JSON log line", text: formatJsonLine(line) },
])("the value does not show in $form", ({ text }) => {
  expect(text).not.toContain("hunter2");
  expect(text).toContain("[redacted]");
});

test("reveal gives the value", () => {
  expect(secret.reveal()).toBe("hunter2");
});
