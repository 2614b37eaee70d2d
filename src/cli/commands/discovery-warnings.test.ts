import { expect, test } from "vitest";
import { createFlagValues } from "../framework/flag-values.ts";
import { parseFlags } from "../framework/parse-flags.ts";
import { discoveryWarnings } from "./discovery.ts";
import { DISCOVERY_FLAGS } from "./discovery-flags.ts";

function warnings(words: readonly string[]) {
  const { set } = parseFlags(DISCOVERY_FLAGS, ["--configDir=c", ...words], true);
  return discoveryWarnings(createFlagValues(DISCOVERY_FLAGS, set, {}));
}

test("rules that end with the process are reported", () => {
  expect(warnings(["--configDir="])).toEqual([expect.stringContaining("No --configDir is given")]);
  expect(warnings([])).toEqual([]);
});

test.each(
  DISCOVERY_FLAGS.filter(({ deprecated }) => deprecated !== undefined).map(({ name, usage }) => ({ name, usage })),
)("the help of --$name says that it has no effect", ({ usage }) => {
  expect(usage).toMatch(/^Has no effect: \w/);
});
