import { abortAfter } from "../base/abort-after.ts";
import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import { HEALTH_RULES, type HealthRules } from "./core/generations.ts";
import type { HealthCheckConfig, ProbeMethod } from "./core/health-config.ts";
import { type HealthEvent, INITIAL_HEALTH, nextHealth, type ProbeResult } from "./core/health-state.ts";
import { probeExec } from "./probes/probe-exec.ts";
import { probeGrpc } from "./probes/probe-grpc.ts";
import { type HttpSource, probeHttp } from "./probes/probe-http.ts";
import { probeTcp } from "./probes/probe-tcp.ts";

export interface HealthCheckerOptions {
  readonly config: HealthCheckConfig;
  /** Envoy's own state comes first: why it is not ready, or undefined. Absent: there is no Envoy. */
  readonly envoy?: () => Promise<string | undefined>;
  readonly source: HttpSource;
  /** Those of the newest generation when absent. */
  readonly rules?: HealthRules;
  /** Called on the first verdict and on changes. */
  report(event: HealthEvent): void;
  readonly log: Logger;
}

/** Looks at the workload every period until stopped. Looks never overlap; a slow one makes the next come late. */
export function startHealthChecker(options: HealthCheckerOptions): Handle {
  const stopping = new AbortController();
  const running = run(options, stopping.signal);
  return toHandle({
    ended: running,
    async stop() {
      stopping.abort();
      await running.catch(() => undefined);
    },
  });
}

async function run(options: HealthCheckerOptions, signal: AbortSignal): Promise<void> {
  const { config, log, rules = HEALTH_RULES.master } = options;
  log.info(`starting health check for health.AggregateProber in ${formatDurationMs(config.initialDelayMs)}`);
  await wait(config.initialDelayMs + (rules.looksAtOnce ? 0 : config.periodMs), signal);
  const look = createLook(options);
  let state = INITIAL_HEALTH;
  let due = performance.now();
  while (!signal.aborted) {
    const result = await look(signal);
    if (signal.aborted) return;
    const judged = result.healthy || !rules.beginsHealthy ? result : { ...result, isStarting: true };
    const next = nextHealth(state, judged, config.thresholds);
    state = next.state;
    if (next.event !== undefined) {
      if (next.event.healthy) log.info("success threshold hit, marking as healthy");
      else log.info(`failure threshold hit, marking as unhealthy: ${next.event.message}`);
      options.report(next.event);
    }
    // Ticks that were missed are not made up for.
    const now = performance.now();
    while (due <= now) due += config.periodMs;
    await wait(due - now, signal);
  }
}

/** The first thing that is wrong is the answer: Envoy, then the workload. */
function createLook({
  config,
  envoy,
  source,
  rules,
}: HealthCheckerOptions): (signal: AbortSignal) => Promise<ProbeResult> {
  let hasEnvoyBeenReady = false;
  const { method, timeoutMs } = config;
  return async (signal) => {
    const why = rules?.asksEnvoy === false ? undefined : await envoy?.().catch(errorMessage);
    if (why !== undefined) return { healthy: false, message: why, isStarting: !hasEnvoyBeenReady };
    hasEnvoyBeenReady = true;
    using limit = abortAfter(timeoutMs, signal);
    try {
      return await probe(method, { timeoutMs, source, signal: limit.signal });
    } catch (thrown) {
      // A command too long to be run, for example. It must not be the last look.
      return { healthy: false, message: errorMessage(thrown) };
    }
  };
}

interface ProbeContext {
  readonly timeoutMs: number;
  readonly source: HttpSource;
  readonly signal: AbortSignal;
}

function probe(method: ProbeMethod, { timeoutMs, source, signal }: ProbeContext): Promise<ProbeResult> {
  switch (method.kind) {
    case "http":
      return probeHttp(method, source, signal);
    case "tcp":
      return probeTcp(method.host, method.port, signal);
    case "exec":
      return probeExec(method.command, signal);
    case "grpc":
      return probeGrpc(method, timeoutMs, signal);
  }
}
