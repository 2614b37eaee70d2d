import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { createFlagValues } from "../framework/flag-values.ts";
import { parseFlags } from "../framework/parse-flags.ts";
import { discoveryWarnings } from "./discovery.ts";
import { DISCOVERY_FLAGS } from "./discovery-flags.ts";

const folder = mkdtempSync(join(tmpdir(), "discovery-warnings-"));
const path = join(folder, "meshNetworks");
afterEach(() => rmSync(path, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

function warnings(words: readonly string[]) {
  const { set } = parseFlags(DISCOVERY_FLAGS, ["--configDir=c", ...words], true);
  return discoveryWarnings(createFlagValues(DISCOVERY_FLAGS, set, {}));
}

test.each([
  { is: "missing", text: undefined, says: [] },
  { is: "empty", text: "", says: [] },
  { is: "without networks", text: "networks: {}", says: [] },
  { is: "of two networks", text: "networks: {a: {}, b: {}}", says: ["(a, b): several networks are not supported"] },
  { is: "broken", text: "networks: [", says: ["the file cannot be read either"] },
])("a networks file that is $is leads to $says", async ({ text, says }) => {
  if (text !== undefined) writeFileSync(path, text);
  const notices = await warnings([`--networksConfig=${path}`]);
  expect(notices).toEqual(says.map((part) => expect.stringContaining(part)));
});

test("rules that end with the process are reported", async () => {
  expect(await warnings(["--configDir="])).toEqual([expect.stringContaining("No --configDir is given")]);
  expect(await warnings([])).toEqual([]);
});

test.each(
  DISCOVERY_FLAGS.filter(({ deprecated }) => deprecated !== undefined).map(({ name, usage }) => ({ name, usage })),
)("the help of --$name says that it has no effect", ({ usage }) => {
  expect(usage).toMatch(/^Has no effect: \w/);
});
