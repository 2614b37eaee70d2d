import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import type { CommandEntry } from "../framework/command.ts";
import { command } from "./envoy.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-envoy-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file that looks like a program. */
function program(...path: string[]): string {
  const file = join(folder, ...path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, "");
  chmodSync(file, 0o755);
  return file;
}

function run(words: readonly string[], env: Record<string, string>) {
  const commands: CommandEntry[] = [{ name: "envoy", short: "", load: async () => command }];
  const own = { XDG_CACHE_HOME: join(folder, "cache"), PYTHON: join(folder, "no-python"), ...env };
  return runWords({ words: ["envoy", ...words], commands, env: own });
}

test("the flag comes before the ProxyConfig, that before ENVOY_BIN, that before PATH", async () => {
  const [flag, config, variable] = [program("flag"), program("config"), program("variable")];
  const onPath = program("bin", "envoy");
  const env: Record<string, string> = {
    PROXY_CONFIG: `binaryPath: ${config}`,
    ENVOY_BIN: variable,
    PATH: join(folder, "bin"),
  };
  const found: string[] = [(await run(["path", "--binary", flag], env)).stdout];
  for (const name of ["", "PROXY_CONFIG", "ENVOY_BIN"]) {
    delete env[name];
    found.push((await run(["path"], env)).stdout);
  }
  expect(found).toEqual([flag, config, variable, onPath].map((path) => `${path}\n`));
});

test("the built-in path of a ProxyConfig counts as not configured", async () => {
  const variable = program("variable");
  const env = { PROXY_CONFIG: "binaryPath: /usr/local/bin/envoy", ENVOY_BIN: variable };
  expect((await run(["path"], env)).stdout).toBe(`${variable}\n`);
});

test.each([
  { env: { ENVOY_BIN: "/no/envoy" }, says: "Envoy at /no/envoy (from ENVOY_BIN) is missing or not executable" },
  { env: { PROXY_CONFIG: "binaryPath: /no/x" }, says: "Envoy at /no/x (from the configured path) is missing" },
  { env: { PROXY_CONFIG: "[" }, says: "environment variable PROXY_CONFIG: yaml: line 1:" },
])("$env ends with: $says", async ({ env, says }) => {
  const { code, stdout, stderr } = await run(["path"], env);
  expect({ code, stdout }).toEqual({ code: 255, stdout: "" });
  expect(stderr).toContain(`Error: ${says}`);
});

test("without Envoy and without pip it names the three ways to provide it", async () => {
  const { code, stderr } = await run(["path"], { PATH: "" });
  expect(code).toBe(255);
  expect(stderr.split("\n").filter((line) => line.startsWith("  - "))).toHaveLength(3);
});
