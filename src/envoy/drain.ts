import { abortAfter } from "../base/abort-after.ts";
import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { AdminClient } from "./admin-client.ts";
import { countActiveConnections } from "./core/active-connections.ts";
import type { TerminationRules } from "./core/generations.ts";

export interface TerminationOptions {
  /** Between the drain request and the end of Envoy. */
  readonly drainMs: number;
  /** Instead: at least `minimumMs`, then until the last connection is gone, at most `maximumMs` in all. */
  readonly exitOnZero?: { readonly minimumMs: number; readonly maximumMs: number };
  /** Only listeners with traffic direction INBOUND: what a sidecar's clients see. */
  readonly inboundOnly: boolean;
  /** Ports of Envoy's own listeners (status, metrics), whose connections do not count. */
  readonly ownPorts: readonly number[];
  readonly drainRequestTimeoutMs?: number;
  /** Between two counts of the open connections. */
  readonly checkIntervalMs?: number;
  /** From SIGTERM to SIGKILL. */
  readonly killAfterMs?: number;
}

export interface DrainContext {
  readonly admin: Pick<AdminClient, "drainListeners" | "stats" | "authority">;
  readonly log: Logger;
  readonly options: TerminationOptions;
  readonly rules: TerminationRules;
}

const CHECK_INTERVAL_MS = 1_000;
/** The end of the drain, without new connections: requests under way get their answer before Envoy, which does not wait for them, ends. */
const LAST_REQUESTS_MS = 500;
const LAST_REQUESTS_SHARE = 0.25;
/** Envoy's threads close their listeners a moment after the answer that they are to. */
const CLOSING_MS = 100;

/** Asks Envoy to drain; failures are logged and not passed on, since the agent ends either way. */
export async function requestDrain(context: DrainContext, skipExit: boolean): Promise<void> {
  const { admin, log, options, rules } = context;
  const timeoutMs = options.drainRequestTimeoutMs ?? 3_000;
  const inboundOnly = options.inboundOnly || rules.isAlwaysInboundOnly;
  // Envoy refuses skip_exit outside a graceful drain.
  const graceful = rules.isGraceful || skipExit;
  try {
    const body = await admin.drainListeners({ inboundOnly, graceful, skipExit, timeoutMs });
    log.debug(`Drain listener endpoint response : ${body.trimEnd()}`);
  } catch (thrown) {
    const port = admin.authority.slice(admin.authority.lastIndexOf(":") + 1);
    log.info(`failed draining listeners for Envoy on port ${port}: ${errorMessage(thrown)}`);
    log.warn(`Error in invoking drain listeners endpoint: ${errorMessage(thrown)}`);
  }
}

/** The time between the drain request and the end. Returns early, without a word, when `cut` aborts: Envoy is gone or in a hurry. */
export async function awaitDrained(context: DrainContext, cut: AbortSignal): Promise<void> {
  const { log, options } = context;
  // Over while Envoy was still being asked.
  if (cut.aborted) return;
  if (options.exitOnZero !== undefined) return awaitNoConnections(context, options.exitOnZero, cut);
  log.info(`Graceful termination period is ${formatDurationMs(options.drainMs)}, starting...`);
  const lastMs = lastRequestsMs(context, options.drainMs);
  await wait(options.drainMs - lastMs, cut);
  if (lastMs > 0 && !cut.aborted) await stopListeners(context, lastMs, cut);
  if (!cut.aborted) log.info("Graceful termination period complete, terminating remaining proxies.");
}

/** Nothing where the drain itself closes the listeners. */
function lastRequestsMs({ rules }: DrainContext, ofMs: number): number {
  return rules.isGraceful ? Math.min(LAST_REQUESTS_MS, ofMs * LAST_REQUESTS_SHARE) : 0;
}

/**
 * A listener that drains still accepts: who connects in the last moment would be cut off in the middle of a request. Refused instead,
 * a client tries elsewhere.
 */
async function stopListeners({ admin, log, options }: DrainContext, forMs: number, cut: AbortSignal): Promise<void> {
  const over = wait(forMs, cut);
  const timeoutMs = options.drainRequestTimeoutMs ?? 3_000;
  const asked = admin
    .drainListeners({ inboundOnly: options.inboundOnly, graceful: false, skipExit: false, timeoutMs })
    .catch((thrown: unknown) => log.debug(`Listeners were not stopped: ${errorMessage(thrown)}`));
  await Promise.all([over, Promise.race([asked, over])]);
}

async function awaitNoConnections(
  context: DrainContext,
  { minimumMs, maximumMs }: { readonly minimumMs: number; readonly maximumMs: number },
  cut: AbortSignal,
): Promise<void> {
  const { log, options, rules } = context;
  log.info(
    `Agent draining proxy for ${formatDurationMs(minimumMs)}, then waiting for active connections to terminate...`,
  );
  const lastMs = lastRequestsMs(context, maximumMs);
  using deadline = abortAfter(Math.max(maximumMs - lastMs, minimumMs), cut);
  const over = deadline.signal;
  await wait(minimumMs, over);
  if (!over.aborted) log.info("Checking for active connections...");
  let errors = 0;
  while (!over.aborted) {
    await wait(options.checkIntervalMs ?? CHECK_INTERVAL_MS, over);
    if (over.aborted) break;
    const count = await readCount(context);
    if (over.aborted) break;
    if (count === undefined) {
      errors++;
      if (errors > rules.toleratedStatsErrors) {
        log.warn(
          `Graceful termination logic ended prematurely, error while obtaining downstream_cx_active stat (Max retry ${errors} exceeded)`,
        );
        return;
      }
      log.warn(`Retrying (${errors} attempt) to obtain active connections...`);
      continue;
    }
    errors = 0;
    if (count > 0) log.info(`There are still ${count} active connections`);
    else if (await isLeftByAll(context, over)) return announceEnd(log, count);
  }
  if (!deadline.expired) return;
  if (lastMs > 0) await stopListeners(context, lastMs, cut);
  if (!cut.aborted) {
    log.warn(`Active connections did not end within ${formatDurationMs(maximumMs)}, terminating proxy...`);
  }
}

/** Who connects after the count would be cut off: only closed listeners have no clients for good. */
async function isLeftByAll(context: DrainContext, over: AbortSignal): Promise<boolean> {
  if (!context.rules.isGraceful) return true;
  await stopListeners(context, CLOSING_MS, over);
  return !over.aborted && ((await readCount(context)) ?? 0) <= 0;
}

function announceEnd(log: Logger, count: number): void {
  if (count === 0) log.info("There are no more active connections. terminating proxy...");
  else {
    log.info(
      "downstream_cx_active are not available. This either means there are no downstream connection established yet or the stats are not enabled. Skipping active connections check...",
    );
  }
}

async function readCount({ admin, log, options, rules }: DrainContext): Promise<number | undefined> {
  try {
    const stats = await admin.stats("usedonly&filter=downstream_cx_active$", rules.statsTimeoutMs);
    const { count, warnings } = countActiveConnections(stats, options.ownPorts);
    for (const warning of warnings) log.warn(warning);
    return count;
  } catch (thrown) {
    log.error(`unable to get listener stats from Envoy : ${errorMessage(thrown)}`);
    return undefined;
  }
}
