import { join } from "node:path";
import type { Logger } from "../base/logger.ts";
import { type AgentConfig, diskFiles, type Environment, systemRootCa } from "../config/index.ts";
import { parseTarget } from "../grpc/index.ts";
import { startWasmConverter, type WasmConverter, type WasmMetrics } from "../wasm/index.ts";
import { connectThroughProxy } from "../xds-proxy/index.ts";
import { proxyUser } from "./proxy-user.ts";

/** Below the working directory, which is the root directory in the image. */
const MODULE_DIRECTORY = "var/lib/istio/data";

export interface WasmParts {
  readonly env: Environment;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

/** Undefined when remote modules are left to Envoy. */
export async function connectWasm(config: AgentConfig, parts: WasmParts): Promise<WasmConverter | undefined> {
  const { wasm, generation } = config;
  if (!wasm.enabled) return undefined;
  const { enabled: _enabled, ...settings } = wasm;
  return startWasmConverter({
    ...settings,
    directory: MODULE_DIRECTORY,
    dockerConfigPath: dockerConfigPath(parts.env),
    rootsFile: systemRootCa(diskFiles.exists),
    fallback: generation.name === "master" ? "current" : "legacy",
    owner: proxyUser(config),
    tunnel: (target) => {
      const connect = connectThroughProxy(target, config.xds);
      return connect && ((signal) => connect(parseTarget(target), signal));
    },
    metrics: parts.metrics,
    log: parts.log.scope("wasm"),
  });
}

/** Where container tools keep their credentials. */
function dockerConfigPath({ DOCKER_CONFIG, HOME }: Environment): string | undefined {
  if (DOCKER_CONFIG) return join(DOCKER_CONFIG, "config.json");
  return HOME ? join(HOME, ".docker", "config.json") : undefined;
}
