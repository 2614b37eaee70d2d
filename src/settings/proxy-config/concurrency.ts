import type { Logger } from "../../base/logger.ts";
import type { GenerationRules } from "../generations.ts";

export interface ConcurrencySources {
  /** What the merged ProxyConfig says. */
  readonly configured: number | undefined;
  /** --concurrency; 0 is unset. */
  readonly flag: number;
  /** ISTIO_CPU_LIMIT; 0 is unknown. */
  readonly cpuLimit: number;
  readonly hostCpus: number;
}

/** Envoy's worker threads; undefined and 0 both mean one per host core, but an explicit 0 stays visible in the config. */
export function effectiveConcurrency(
  sources: ConcurrencySources,
  rules: GenerationRules,
  log: Logger,
): number | undefined {
  const { flag, cpuLimit, hostCpus } = sources;
  if (rules.flagsAlwaysWin) return flag;
  let concurrency = sources.configured;
  if (concurrency === undefined && rules.usesCpuLimit && cpuLimit !== 0) {
    log.info(`cpu limit detected as ${cpuLimit}, setting concurrency`);
    concurrency = cpuLimit;
  }
  if (flag !== 0) {
    log.warn(`legacy --concurrency=${flag} flag detected; prefer to use ProxyConfig`);
    concurrency = flag;
  }
  // Without a known limit there is nothing the threads could exceed.
  if (rules.warnsAboutUnlimitedConcurrency && (concurrency ?? 0) === 0 && cpuLimit !== 0 && cpuLimit < hostCpus) {
    log.warn(
      "concurrency is set to 0, which will use a thread per CPU on the host. However, CPU limit is set lower. " +
        "This is not recommended and may lead to performance issues. " +
        `CPU count: ${hostCpus}, CPU Limit: ${cpuLimit}.`,
    );
  }
  return concurrency;
}
