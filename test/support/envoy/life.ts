import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { envoyRules } from "../../../src/envoy/core/generations.ts";
import type { EnvoyOptions } from "../../../src/envoy/envoy-options.ts";

export { recordLog as recordingLogger } from "../log/recording-log.ts";
export { freePorts } from "../net/free-ports.ts";

/** A folder for configuration and Envoy's output, which goes to files there instead of the test's own stdout. */
export function createWorkFolder() {
  const folder = mkdtempSync(join(tmpdir(), "envoy-life-"));
  const stdout = openSync(join(folder, "stdout"), "a", 0o644);
  const stderr = openSync(join(folder, "stderr"), "a", 0o644);
  return {
    folder,
    stdio: { stdout, stderr },
    stdout: () => readFileSync(join(folder, "stdout"), "utf8"),
    stderr: () => readFileSync(join(folder, "stderr"), "utf8"),
    write: (name: string, content: unknown) => {
      const path = join(folder, name);
      writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
      return path;
    },
    [Symbol.dispose]: () => {
      closeSync(stdout);
      closeSync(stderr);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Options that need only what the test is about. */
export function envoyOptions(
  overrides: Pick<EnvoyOptions, "binaryPath" | "prepareConfig" | "log"> &
    Partial<EnvoyOptions> & { adminPort?: number },
): EnvoyOptions {
  const { adminPort = 1, ...rest } = overrides;
  return {
    rules: envoyRules("master"),
    args: { drainMs: 1_000, nodeIps: ["127.0.0.1"], logLevel: "warning", concurrency: 1 },
    admin: { host: "127.0.0.1", port: adminPort },
    termination: { drainMs: 50, inboundOnly: true, ownPorts: [] },
    env: { PATH: process.env.PATH },
    ...rest,
  };
}

/** Children of this process by command name, zombies included. */
export function childrenOf(pid: number): string[] {
  const output = execFileSync("ps", ["-o", "pid=,stat=,comm=", "--ppid", String(pid)], { encoding: "utf8" });
  return output.split("\n").filter((line) => line.trim() !== "" && !line.includes(" ps"));
}
