import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import type { AdminClient } from "./admin-client.ts";
import type { ReadinessRules } from "./core/generations.ts";
import { CONFIG_STATS_FILTER, configProblem, SERVER_STATS_FILTER, serverProblem } from "./core/readiness.ts";

export interface EnvoyReadinessOptions {
  readonly admin: Pick<AdminClient, "stats">;
  readonly log: Logger;
  readonly rules: ReadinessRules;
  /** Why the agent is ending; undefined while it is not. */
  readonly terminationCause?: () => string | undefined;
  /** Since the process started. */
  readonly uptimeMs: () => number;
  readonly onFirstReady?: (uptimeMs: number) => void;
}

export interface EnvoyReadinessProbe {
  /** The reason not to be ready; undefined when Envoy serves with a complete configuration. */
  check(): Promise<string | undefined>;
  /** Forgets earlier success: another Envoy has to show it again. */
  reset(): void;
}

const CONFIG_TIMEOUT_MS = 1_000;

/** Success is cached: Envoy keeps serving its last configuration, and an admin port that moves in a hot restart does not mean an outage. */
export function envoyReadinessProbe(options: EnvoyReadinessOptions): EnvoyReadinessProbe {
  const { rules } = options;
  let hasConfig = false;
  let isServing = false;
  let isFirst = true;
  let resets = 0;
  const ask = async (filter: string, timeoutMs: number, judge: (stats: string) => string | undefined) => {
    try {
      const sent = rules.escapesFilters ? filter : filter.replaceAll("\\", "");
      return judge(await options.admin.stats(`usedonly&filter=${sent}`, timeoutMs));
    } catch (thrown) {
      return errorMessage(thrown);
    }
  };
  const check = async () => {
    const asked = resets;
    // Both at once: the pod waits for this answer.
    const [config, server] = await Promise.all([
      hasConfig
        ? undefined
        : ask(CONFIG_STATS_FILTER, CONFIG_TIMEOUT_MS, (stats) => configProblem(stats, rules.reportsParts)),
      isServing ? undefined : ask(SERVER_STATS_FILTER, rules.serverTimeoutMs, serverProblem),
    ]);
    // An answer of the Envoy before a reset says nothing about the present one.
    const isPresent = asked === resets;
    if (config !== undefined) return config;
    hasConfig = isPresent;
    const cause = options.terminationCause?.();
    if (cause !== undefined) return rules.terminated(cause);
    if (server !== undefined) return server;
    isServing = isPresent && rules.cachesReady;
    if (isFirst) announce(options);
    isFirst = false;
    return undefined;
  };
  return {
    check,
    reset: () => {
      resets++;
      hasConfig = false;
      isServing = false;
    },
  };
}

function announce({ log, uptimeMs, onFirstReady }: EnvoyReadinessOptions): void {
  const uptime = uptimeMs();
  log.info(`Readiness succeeded in ${formatDurationMs(uptime)}`);
  onFirstReady?.(uptime);
}
