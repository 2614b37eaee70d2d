import type { Bin } from "./histogram.ts";

/** Counters of one cluster since Envoy started. */
export interface ClusterCounters {
  /** Requests that came to an end, retries of the same request not counted, answers of the router included. */
  readonly completed: number;
  readonly clientErrors: number;
  readonly errors: number;
  readonly retries: number;
  readonly overflows: number;
  readonly connections: number;
  readonly failedConnections: number;
  readonly openConnections: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly handshakes: number;
  readonly time: readonly Bin[];
}

/** Of one outbound HTTP listener: what fault rules did there before any cluster was chosen. */
export interface ListenerCounters {
  readonly aborts: number;
  readonly delays: number;
}

/** What one Envoy said at one moment. */
export interface StatsSample {
  readonly at: number;
  /** By `outbound|PORT|SUBSET|HOST`, `inbound|PORT||`, `PassthroughCluster`. */
  readonly clusters: ReadonlyMap<string, ClusterCounters>;
  /** By `ADDRESS_PORT`. */
  readonly listeners: ReadonlyMap<string, ListenerCounters>;
}

const COUNTERS = {
  upstream_rq_completed: "completed",
  upstream_rq_4xx: "clientErrors",
  upstream_rq_5xx: "errors",
  upstream_rq_retry: "retries",
  upstream_rq_pending_overflow: "overflows",
  upstream_cx_overflow: "overflows",
  upstream_cx_total: "connections",
  upstream_cx_connect_fail: "failedConnections",
  upstream_cx_active: "openConnections",
  upstream_cx_tx_bytes_total: "sentBytes",
  upstream_cx_rx_bytes_total: "receivedBytes",
  "ssl.handshake": "handshakes",
} as const satisfies Record<string, keyof ClusterCounters>;

const NAMES = Object.keys(COUNTERS).map((name) => name.replaceAll(".", "\\."));
const SOME = NAMES.join("|");

/**
 * Which statistics an agent has to let its Envoy make for a console, on top of its usual ones. Patterns of RE2, for
 * `proxyStatsMatcher.inclusionRegexps`.
 */
export const STATS_PATTERNS: readonly string[] = [
  `cluster\\.(outbound\\|.*|PassthroughCluster;?)\\.(${SOME}|upstream_rq_time)`,
  "cluster\\.inbound\\|.*\\.(upstream_rq_completed|upstream_rq_4xx|upstream_rq_5xx|upstream_rq_time)",
  "http\\.outbound_.*\\.fault\\.(aborts|delays)_injected",
];

/**
 * Without what Envoy counts a second time behind the end of a cluster's name (`;.external.upstream_rq_time`): half of an answer, which
 * nobody reads. Names of other control planes end without a semicolon; there `isShadow` finds it.
 */
const ASKED = STATS_PATTERNS.map((pattern) => pattern.replace("\\|.*", "\\|[^;]*;?"));

/** The same as one question to Envoy's admin interface; totals of histograms are whole, so that windows are differences. */
export const STATS_PATH = `/stats?usedonly&format=json&histogram_buckets=detailed&filter=${encodeURIComponent(
  `^(${ASKED.join("|")})$`,
)}`;

const CLUSTER = new RegExp(`^cluster\\.(.+?);?\\.(${SOME})$`);
const CLUSTER_TIME = /^cluster\.(.+?);?\.upstream_rq_time$/;
const FAULT = /^http\.outbound_(.+?);?\.fault\.(aborts|delays)_injected$/;

/** Undefined for an answer that is not Envoy's. */
export function parseStats(value: unknown, at: number): StatsSample | undefined {
  const answer = value as Answer | null;
  if (!Array.isArray(answer?.stats)) return undefined;
  const clusters = new Map<string, Mutable<ClusterCounters>>();
  const listeners = new Map<string, Mutable<ListenerCounters>>();
  const histograms: Histogram[] = [];
  for (const stat of answer.stats) {
    if (stat.histograms !== undefined) histograms.push(...(stat.histograms.details ?? []));
    if (stat.name === undefined || typeof stat.value !== "number") continue;
    const [, cluster, counter] = CLUSTER.exec(stat.name) ?? [];
    if (cluster !== undefined) clusterOf(clusters, cluster)[COUNTERS[counter as keyof typeof COUNTERS]] += stat.value;
    const [, listener, fault] = FAULT.exec(stat.name) ?? [];
    if (listener !== undefined) listenerOf(listeners, listener)[fault as "aborts" | "delays"] += stat.value;
  }
  for (const { name, totals = [] } of histograms) {
    const [, cluster = ""] = CLUSTER_TIME.exec(name) ?? [];
    const found = clusters.get(cluster);
    // `HOST.external` has a histogram besides that of HOST, and no counters of its own.
    if (found !== undefined)
      found.time = totals.map(({ lower_bound: lower, width, count }) => ({ lower, width, count }));
  }
  for (const name of clusters.keys()) if (isShadow(clusters, name)) clusters.delete(name);
  return { at, clusters, listeners };
}

/** What Envoy puts between the name of a cluster and that of an answer that it counts a second time; connections are never. */
const SHADOW = /;?\.(external|internal|retry|canary)$/;

function isShadow(clusters: ReadonlyMap<string, ClusterCounters>, name: string): boolean {
  return SHADOW.test(name) && clusters.has(name.replace(SHADOW, "")) && clusters.get(name)?.connections === 0;
}

function clusterOf(clusters: Map<string, Mutable<ClusterCounters>>, name: string): Mutable<ClusterCounters> {
  let found = clusters.get(name);
  if (found === undefined) {
    found = { ...NO_COUNTERS };
    clusters.set(name, found);
  }
  return found;
}

export const NO_COUNTERS: ClusterCounters = {
  completed: 0,
  clientErrors: 0,
  errors: 0,
  retries: 0,
  overflows: 0,
  connections: 0,
  failedConnections: 0,
  openConnections: 0,
  sentBytes: 0,
  receivedBytes: 0,
  handshakes: 0,
  time: [],
};

function listenerOf(listeners: Map<string, Mutable<ListenerCounters>>, name: string): Mutable<ListenerCounters> {
  let found = listeners.get(name);
  if (found === undefined) {
    found = { aborts: 0, delays: 0 };
    listeners.set(name, found);
  }
  return found;
}

type Mutable<Of> = { -readonly [Member in keyof Of]: Of[Member] };

interface Answer {
  readonly stats?: readonly {
    readonly name?: string;
    readonly value?: unknown;
    readonly histograms?: { readonly details?: readonly Histogram[] };
  }[];
}

interface Histogram {
  readonly name: string;
  readonly totals?: readonly { readonly lower_bound: number; readonly width: number; readonly count: number }[];
}
