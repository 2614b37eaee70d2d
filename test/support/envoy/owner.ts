import { existsSync } from "node:fs";
import { silentLogger } from "../../../src/base/logger.ts";
import { envoyRules } from "../../../src/envoy/core/generations.ts";
import type { EnvoyOptions } from "../../../src/envoy/envoy-options.ts";
import { startEnvoy } from "../../../src/envoy/start-envoy.ts";

/**
 * A small agent: owns one Envoy and nothing else. Argument: JSON of the options that fit into it. SIGTERM terminates (a second one
 * hurries), SIGHUP reloads. Tests bundle this file, so that there is a process to signal and to kill.
 */
const given = JSON.parse(process.argv[2] ?? "{}") as Partial<EnvoyOptions> & {
  readonly binaryPath: string;
  readonly config: string;
};

const envoy = await startEnvoy({
  rules: envoyRules("master"),
  args: { drainMs: 1_000, nodeIps: ["127.0.0.1"], logLevel: "warning", concurrency: 1 },
  prepareConfig: async () => {
    if (!existsSync(given.config)) throw new Error(`${given.config} is missing`);
    return { path: given.config };
  },
  admin: { host: "127.0.0.1", port: 1 },
  termination: { drainMs: 0, inboundOnly: true, ownPorts: [] },
  env: process.env,
  log: silentLogger,
  ...given,
});
process.on("SIGTERM", () => void envoy.terminate());
process.on("SIGHUP", () => envoy.reload("SIGHUP"));
envoy.ended.catch((thrown: { exitCode?: number }) => {
  process.exitCode = thrown.exitCode ?? 1;
});
