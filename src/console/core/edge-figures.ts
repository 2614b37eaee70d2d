import type { GraphEdge } from "../api.ts";
import type { Flow } from "./flows.ts";
import { addBins, quantile } from "./histogram.ts";

/** What one Envoy sent, between two nodes. */
export interface NamedFlow extends Flow {
  readonly from: string;
  readonly to: string;
  /** Empty for hosts that no service has. */
  readonly host: string;
  readonly port: number;
  readonly protocol: "http" | "tcp";
  /** Requests that a fault rule answered or delayed. */
  readonly faults: number;
}

/** Replicas of one caller are one edge. */
export function mergeFlows(flows: readonly NamedFlow[]): readonly NamedFlow[] {
  const merged = new Map<string, NamedFlow>();
  for (const flow of flows) {
    const key = `${flow.from} ${flow.to} ${flow.port}`;
    const before = merged.get(key);
    merged.set(key, before === undefined ? flow : sum(before, flow));
  }
  return [...merged.values()];
}

function sum(a: NamedFlow, b: NamedFlow): NamedFlow {
  const made = (flow: NamedFlow) => (flow.mtlsShare === undefined ? 0 : Math.max(1, flow.openConnections));
  const shares = made(a) + made(b);
  return {
    ...a,
    windowMs: Math.max(a.windowMs, b.windowMs),
    completed: a.completed + b.completed,
    clientErrors: a.clientErrors + b.clientErrors,
    errors: a.errors + b.errors,
    retries: a.retries + b.retries,
    overflows: a.overflows + b.overflows,
    connections: a.connections + b.connections,
    failedConnections: a.failedConnections + b.failedConnections,
    openConnections: a.openConnections + b.openConnections,
    sentBytes: a.sentBytes + b.sentBytes,
    receivedBytes: a.receivedBytes + b.receivedBytes,
    handshakes: a.handshakes + b.handshakes,
    faults: a.faults + b.faults,
    time: addBins([a.time, b.time]),
    mtlsShare: shares === 0 ? undefined : ((a.mtlsShare ?? 0) * made(a) + (b.mtlsShare ?? 0) * made(b)) / shares,
  };
}

export function edgeOf(flow: NamedFlow, weight: number | undefined): GraphEdge {
  const perSecond = (count: number) => (flow.windowMs <= 0 ? 0 : round((count * 1000) / flow.windowMs));
  const share = (count: number) => (flow.completed <= 0 ? 0 : round(Math.min(1, count / flow.completed)));
  const bins = flow.protocol === "tcp" ? [] : flow.time;
  const [p50Ms, p99Ms] = [quantile(bins, 0.5), quantile(bins, 0.99)];
  return {
    id: `${flow.from}->${flow.to}:${flow.port}`,
    from: flow.from,
    to: flow.to,
    protocol: flow.protocol,
    ...(flow.port === 0 ? {} : { port: flow.port }),
    rps: flow.protocol === "tcp" ? 0 : perSecond(flow.completed),
    errorShare: share(flow.errors),
    clientErrorShare: share(flow.clientErrors),
    faultShare: share(flow.faults),
    ...(p50Ms === undefined ? {} : { p50Ms }),
    ...(p99Ms === undefined ? {} : { p99Ms }),
    connectionsPerSecond: perSecond(flow.connections),
    openConnections: flow.openConnections,
    sentBytesPerSecond: perSecond(flow.sentBytes),
    receivedBytesPerSecond: perSecond(flow.receivedBytes),
    ...(flow.mtlsShare === undefined ? {} : { mtlsShare: round(flow.mtlsShare) }),
    retriesPerSecond: perSecond(flow.retries),
    overflowsPerSecond: perSecond(flow.overflows),
    ...(weight === undefined ? {} : { weight: round(weight) }),
  };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
