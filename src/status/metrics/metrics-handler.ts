import type { Logger } from "../../base/logger.ts";
import { joinHostPort } from "../../net/host-port.ts";
import type { HttpHandler } from "../../net/http-server/http-types.ts";
import type { ScrapeTarget } from "../core/scrape-targets.ts";
import type { ScrapeMetrics } from "../metrics.ts";
import { createBlockPool } from "./block-pool.ts";
import type { OnOverflow } from "./mesh-names.ts";
import type { ScrapeSource } from "./open-sources.ts";
import { scrape } from "./scrape.ts";

export interface MetricsHandlerOptions {
  /** Absent: Envoy's metrics are left out. */
  readonly envoy?: { readonly host: string; readonly port: number };
  readonly targets: readonly ScrapeTarget[];
  readonly passesQuery: boolean;
  readonly agentText: () => string;
  readonly agentFirst?: boolean;
  readonly filtersAccept?: boolean;
  readonly metrics: ScrapeMetrics;
  readonly log: Logger;
}

/** Each scrape under way may hold three megabytes of bodies; a storm of scrapers waits in line instead. */
const SCRAPES_AT_ONCE = 8;
/** Three megabytes: what one scrape of large bodies uses. */
const MAX_FREE_BLOCKS = 6;
const MEBIBYTE = 1024 * 1024;
const MAX_ONLY_TARGET_BYTES = 256 * MEBIBYTE;
const MAX_TARGET_BYTES = 10 * MEBIBYTE;

/** Answers `/stats/prometheus`: Envoy's, the applications' and the agent's own metrics as one valid document. */
export function createMetricsHandler(options: MetricsHandlerOptions): HttpHandler {
  const gate = createGate(SCRAPES_AT_ONCE);
  const pool = createBlockPool(MAX_FREE_BLOCKS);
  const onOverflow = createOverflowReport(options.log);
  const applications = options.targets.map(({ port, path }) => ({
    kind: "application" as const,
    url: `http://localhost:${port}${path}`,
    name: `"${port}":"${path}"`,
    maxBytes: options.targets.length > 1 ? MAX_TARGET_BYTES : MAX_ONLY_TARGET_BYTES,
  }));
  return async (request) => {
    // The headers depend on what the sources say, and a body would not be read: asking them would be for nothing.
    if (request.method === "HEAD") return { status: 200 };
    if (!(await gate.enter(request.closed))) return undefined;
    try {
      const query = request.target.split("?").slice(1).join("?");
      const sources = [...envoySource(options, query), ...applications];
      await scrape({ ...options, sources, pool, onOverflow }, request);
    } finally {
      gate.leave();
    }
    return undefined;
  };
}

/** One line for each kind: how many are lost is in the metrics themselves. */
function createOverflowReport(log: Logger): OnOverflow {
  const reported = new Set<string>();
  return (kind, lost) => {
    if (reported.has(kind)) return;
    reported.add(kind);
    log.warn(
      `the budget of ${kind} series of the standard metrics is used up: ${lost} samples of further series were dropped ` +
        `(envoy_server_stats_overflow_${kind} counts them); a Telemetry override can remove the tag that has too many values`,
    );
  };
}

function envoySource({ envoy, passesQuery }: MetricsHandlerOptions, query: string): ScrapeSource[] {
  if (envoy === undefined) return [];
  const url = `http://${joinHostPort(envoy.host, envoy.port)}/stats/prometheus${query !== "" && passesQuery ? `?${query}` : ""}`;
  return [{ kind: "envoy", url, name: undefined, maxBytes: Number.POSITIVE_INFINITY }];
}

/** Lets a few through at a time, the others in the order they came. */
interface Gate {
  /** False when the caller gave up waiting. After true, call `leave` once. */
  enter(signal: AbortSignal): Promise<boolean>;
  leave(): void;
}

export function createGate(capacity: number): Gate {
  let free = capacity;
  const waiting = new Set<() => void>();
  return {
    enter(signal) {
      if (signal.aborted) return Promise.resolve(false);
      if (free > 0) {
        free--;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const settle = (entered: boolean) => {
          waiting.delete(admit);
          signal.removeEventListener("abort", giveUp);
          resolve(entered);
        };
        const admit = () => settle(true);
        const giveUp = () => settle(false);
        waiting.add(admit);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
    leave() {
      const [next] = waiting;
      // Passed straight on to the next one, so that a newcomer cannot overtake it.
      if (next === undefined) free++;
      else next();
    },
  };
}
