import type { Logger } from "../base/logger.ts";
import type { GenerationRules } from "./generations.ts";

export interface EnvoyLogLevels {
  /** Envoy's `-l`; empty leaves the argument out. */
  readonly level: string;
  /** `--component-log-level`; empty leaves the argument out. */
  readonly components: string;
}

/** `info,misc:error` carries component levels in the level; they then replace --proxyComponentLogLevel. */
export function splitProxyLogLevel(
  level: string,
  components: string,
  rules: GenerationRules,
  log: Logger,
): EnvoyLogLevels {
  if (!rules.splitsProxyLogLevel) return { level, components };
  let plain = "";
  const found: string[] = [];
  for (const item of level.split(",")) {
    const colons = item.split(":").length - 1;
    if (colons === 0) plain = item;
    else if (colons === 1) found.push(item);
    else log.warn(`dropping invalid log level: ${item}`);
  }
  return { level: plain, components: found.length > 0 ? found.join(",") : components };
}
