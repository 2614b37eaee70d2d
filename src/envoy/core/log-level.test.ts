import { expect, test } from "vitest";
import { splitProxyLogLevel } from "./log-level.ts";

test.each([
  { text: "info", level: "info", components: "" },
  { text: "info,warn", level: "warn", components: "" },
  { text: "info,", level: "", components: "" },
  { text: "", level: "", components: "" },
  { text: "misc:warn,info,upstream:debug", level: "info", components: "misc:warn,upstream:debug" },
  { text: "warning,misc:error", level: "warning", components: "misc:error" },
  { text: "misc:error", level: "", components: "misc:error" },
])("$text is level '$level' and components '$components'", ({ text, level, components }) => {
  expect(splitProxyLogLevel(text)).toEqual({ level, components, dropped: [] });
});

test("an item with two colons is dropped and named", () => {
  expect(splitProxyLogLevel("a:b:c,info")).toEqual({ level: "info", components: "", dropped: ["a:b:c"] });
});

test("the old component flag counts only when the level names no component", () => {
  expect(splitProxyLogLevel("warning", "misc:error,x").components).toBe("misc:error,x");
  expect(splitProxyLogLevel("warning,http:debug", "misc:error").components).toBe("http:debug");
});
