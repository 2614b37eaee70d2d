import { join } from "node:path";
import type { Logger } from "../base/logger.ts";
import { proxyRoute } from "../net/http-proxy/proxy-route.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { systemRootCa } from "../settings/root-ca.ts";
import { startWasmConverter, type WasmConverter, type WasmMetrics } from "../wasm/index.ts";
import { EXTENSION_TYPE } from "../xds/type-urls.ts";
import type { LastGood } from "../xds-proxy/index.ts";

export interface WasmParts {
  readonly env: Environment;
  /** What a starting proxy may be served without a control plane, and so without the converter. */
  readonly lastGood: Pick<LastGood, "current"> | undefined;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

/** Undefined when remote modules are left to Envoy. */
export async function connectWasm(config: AgentConfig, parts: WasmParts): Promise<WasmConverter | undefined> {
  const { wasm, proxies } = config;
  if (wasm === undefined) return undefined;
  return startWasmConverter({
    ...wasm,
    dockerConfigPath: dockerConfigPath(parts.env),
    rootsFile: systemRootCa(diskFiles.exists),
    owner: config.envoy.user,
    route: (url) => proxyRoute(url, proxies),
    isKept: (path) => isRecorded(path, parts.lastGood),
    metrics: parts.metrics,
    log: parts.log.scope("wasm"),
  });
}

/** Whether the last known good configuration names that file. */
export function isRecorded(path: string, lastGood: Pick<LastGood, "current"> | undefined): boolean {
  const extensions = lastGood?.current()?.snapshot.get(EXTENSION_TYPE)?.resources.values() ?? [];
  for (const { any } of extensions) if (any.includes(path)) return true;
  return false;
}

/** Where container tools keep their credentials. */
function dockerConfigPath({ DOCKER_CONFIG, HOME }: Environment): string | undefined {
  if (DOCKER_CONFIG) return join(DOCKER_CONFIG, "config.json");
  return HOME ? join(HOME, ".docker", "config.json") : undefined;
}
