import { silentLogger } from "../../src/base/logger.ts";
import { type EnvoyOptions, startEnvoy } from "../../src/envoy/index.ts";

/** Argument: JSON of the options that fit into it. Runs Envoy until it is killed; tests bundle this file and end it the hard way. */
const given = JSON.parse(process.argv[2] ?? "{}") as Partial<EnvoyOptions> & {
  readonly binaryPath: string;
  readonly config: string;
};

await startEnvoy({
  args: { generation: "master", drainMs: 1_000, nodeIps: ["127.0.0.1"], logLevel: "warning", concurrency: 1 },
  prepareConfig: async () => ({ path: given.config }),
  admin: { host: "127.0.0.1", port: 1 },
  termination: { drainMs: 0, inboundOnly: true, ownPorts: [] },
  env: process.env,
  log: silentLogger,
  ...given,
});
