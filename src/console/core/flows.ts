import { type Bin, binsSince } from "./histogram.ts";
import { type ClusterCounters, NO_COUNTERS, type StatsSample } from "./parse-stats.ts";

/** What one Envoy sent to one cluster within a window. */
export interface Flow extends Omit<ClusterCounters, "time"> {
  readonly cluster: string;
  readonly windowMs: number;
  /** Of a longer window: Envoy adds to its histograms every five seconds. */
  readonly time: readonly Bin[];
  /** Of the connections that were opened last; undefined before the first one. */
  readonly mtlsShare: number | undefined;
}

export interface ListenerFlow {
  readonly listener: string;
  readonly aborts: number;
  readonly delays: number;
}

export const WINDOW_MS = 4000;
const TIME_WINDOW_MS = 12_000;
const KEPT_MS = 15_000;

/** The samples of one Envoy that windows are made of, newest last. */
export type Samples = readonly StatsSample[];

export function addSample(samples: Samples, sample: StatsSample): Samples {
  return [...samples.filter(({ at }) => at >= sample.at - KEPT_MS && at < sample.at), sample];
}

/** Differences between the newest sample and the one a window ago; nothing before there are two. */
export function flowsOf(samples: Samples): readonly Flow[] {
  const now = samples.at(-1);
  const before = sampleBefore(samples, WINDOW_MS);
  if (now === undefined || before === undefined) return [];
  const earlier = sampleBefore(samples, TIME_WINDOW_MS) ?? before;
  return [...now.clusters].map(([cluster, counters]) => {
    const base = before.clusters.get(cluster) ?? NO_COUNTERS;
    const since = differences(counters, base);
    return {
      ...since,
      cluster,
      windowMs: now.at - before.at,
      openConnections: counters.openConnections,
      time: binsSince(counters.time, earlier.clusters.get(cluster)?.time),
      mtlsShare: mtlsShare(since) ?? mtlsShare(counters),
    };
  });
}

export function listenerFlowsOf(samples: Samples): readonly ListenerFlow[] {
  const now = samples.at(-1);
  const before = sampleBefore(samples, WINDOW_MS);
  if (now === undefined || before === undefined) return [];
  return [...now.listeners].map(([listener, counters]) => ({
    listener,
    aborts: since(counters.aborts, before.listeners.get(listener)?.aborts),
    delays: since(counters.delays, before.listeners.get(listener)?.delays),
  }));
}

/** The newest of those that are at least as old as the window, else the oldest there is; undefined when that is the newest one itself. */
function sampleBefore(samples: Samples, windowMs: number): StatsSample | undefined {
  const now = samples.at(-1);
  if (now === undefined) return undefined;
  const older = samples.slice(0, -1);
  // Timers are late by some milliseconds and never early.
  return older.findLast(({ at }) => now.at - at >= windowMs - 100) ?? older[0];
}

/** Handshakes that were completed, of connections that came about: a share of the connections, not of the rules. */
function mtlsShare({ connections, failedConnections, handshakes }: ClusterCounters): number | undefined {
  const made = connections - failedConnections;
  return made > 0 ? Math.min(1, handshakes / made) : undefined;
}

function differences(now: ClusterCounters, before: ClusterCounters): ClusterCounters {
  // An Envoy that has been started again counts from zero.
  const base = now.connections < before.connections || now.completed < before.completed ? NO_COUNTERS : before;
  return {
    completed: since(now.completed, base.completed),
    clientErrors: since(now.clientErrors, base.clientErrors),
    errors: since(now.errors, base.errors),
    retries: since(now.retries, base.retries),
    overflows: since(now.overflows, base.overflows),
    connections: since(now.connections, base.connections),
    failedConnections: since(now.failedConnections, base.failedConnections),
    openConnections: now.openConnections,
    sentBytes: since(now.sentBytes, base.sentBytes),
    receivedBytes: since(now.receivedBytes, base.receivedBytes),
    handshakes: since(now.handshakes, base.handshakes),
    time: now.time,
  };
}

function since(now: number, before = 0): number {
  return now >= before ? now - before : now;
}
