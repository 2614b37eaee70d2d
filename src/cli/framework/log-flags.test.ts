import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../base/log/log.ts";
import { createFlagValues } from "./flag-values.ts";
import { LOG_FLAGS, readLogSettings } from "./log-flags.ts";
import { parseFlags } from "./parse-flags.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-flags-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const settings = (...words: string[]) =>
  readLogSettings(createFlagValues(LOG_FLAGS, parseFlags(LOG_FLAGS, words, false).set, {}), () => 0);

/** Logs one line through the settings and returns what the files hold. */
function logged(...words: string[]): string[] {
  const log = createLog(() => 0);
  log.configure(settings(...words));
  log.logger.info("said", { k: 1 });
  log.logger.scope("dns").debug("whispered");
  log.close();
  return readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"));
}

test("every target gets every line", () => {
  const line = "1970-01-01T00:00:00.000000Z\tinfo\tsaid\tk=1\n";
  expect(logged("--log_target", join(folder, "a"), "--log_target", join(folder, "b"))).toEqual([line, line]);
});

test("JSON lines where asked for", () => {
  expect(logged("--log_as_json", "--log_target", join(folder, "a"))).toEqual([
    '{"level":"info","time":"1970-01-01T00:00:00.000000Z","msg":"said","k":1}\n',
  ]);
});

test("levels by scope", () => {
  const [text] = logged("--log_output_level=default:none,dns:debug", "--log_target", join(folder, "a"));
  expect(text).toBe("1970-01-01T00:00:00.000000Z\tdebug\tdns\twhispered\n");
});

test("a rotating file comes in addition to the targets", () => {
  expect(logged("--log_target", join(folder, "a"), "--log_rotate", join(folder, "b"))).toHaveLength(2);
});

test.each([
  { words: [], scope: "grpc", level: "none" },
  { words: ["--log_output_level=all:warn"], scope: "grpc", level: "warn" },
  { words: ["--log_output_level=grpc:info"], scope: "grpc", level: "info" },
  { words: ["--vklog=9"], scope: "klog", level: "debug" },
  { words: ["--vklog=-1"], scope: "klog", level: "debug" },
  { words: [], scope: "klog", level: "info" },
])("$words leave $scope at $level", ({ words, scope, level }) => {
  expect(settings(...words).outputLevels.get(scope)).toBe(level);
});

test.each([
  { words: ["--log_output_level=loud"], message: "invalid output level 'loud'" },
  { words: ["--log_stacktrace_level=a:b:c"], message: "invalid output level format 'a:b:c'" },
  { words: ["--log_target=//"], message: 'open sink "//"' },
])("$words are refused: $message", ({ words, message }) => {
  expect(() => settings(...words)).toThrow(message);
});

test("callers are named for the scopes listed, names no one knows are ignored", () => {
  expect([...settings("--log_caller=dns,nobody").callerScopes]).toEqual(["dns", "nobody"]);
});

test.each(["0", "-1"])("a rotation limit of %s megabytes is the usual one", (size) => {
  const [, rotating] = logged(
    ...["--log_target", join(folder, "a"), "--log_rotate", join(folder, "b"), `--log_rotate_max_size=${size}`],
  );
  expect(rotating).toContain("said");
});
