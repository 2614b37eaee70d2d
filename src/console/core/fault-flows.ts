import type { NamedFlow } from "./edge-figures.ts";
import type { ListenerFlow } from "./flows.ts";
import { type ServiceInfo, serviceId } from "./graph-nodes.ts";
import { NO_COUNTERS } from "./parse-stats.ts";
import type { HostRules } from "./route-rules.ts";

export interface FaultContext {
  readonly rules: ReadonlyMap<string, HostRules>;
  readonly services: readonly ServiceInfo[];
}

/**
 * A fault rule answers or delays a request in the caller's Envoy before a cluster is chosen, so no cluster counts it; the listener does.
 * Its counts belong to the hosts of that port that have such a rule, by their requests where there are several.
 */
export function withFaults(
  flows: readonly NamedFlow[],
  listeners: readonly ListenerFlow[],
  { rules, services }: FaultContext,
  from: string,
): readonly NamedFlow[] {
  let result = flows;
  for (const { listener, aborts, delays } of listeners) {
    const port = Number(/_(\d+)$/.exec(listener)?.[1]);
    const candidates = (has: (rule: HostRules) => boolean) =>
      services.filter(({ host, ports }) => ports.includes(port) && has(rules.get(host) ?? NO_RULES));
    if (aborts > 0)
      result = share(
        result,
        candidates(({ abortStatus }) => abortStatus !== undefined),
        { port, from, of: (flow, part) => aborted(flow, aborts * part, rules) },
      );
    if (delays > 0)
      result = share(
        result,
        candidates(({ delayMs }) => delayMs !== undefined),
        { port, from, of: (flow, part) => delayed(flow, delays * part, rules) },
      );
  }
  return result;
}

const NO_RULES: HostRules = { weights: new Map(), versions: new Map(), abortStatus: undefined, delayMs: undefined };

interface Sharing {
  readonly port: number;
  readonly from: string;
  of(flow: NamedFlow, part: number): NamedFlow;
}

function share(
  flows: readonly NamedFlow[],
  services: readonly ServiceInfo[],
  { port, from, of }: Sharing,
): readonly NamedFlow[] {
  const [only] = services;
  if (only === undefined) return flows;
  const isMeant = (flow: NamedFlow) => flow.port === port && services.some(({ host }) => host === flow.host);
  const meant = flows.filter(isMeant);
  // Every request may have been aborted: there is no flow then to add to.
  if (meant.length === 0)
    return [
      ...flows,
      of(
        { ...EMPTY_FLOW, from, to: serviceId(only.host), host: only.host, port, windowMs: flows[0]?.windowMs ?? 0 },
        1,
      ),
    ];
  const total = meant.reduce((sum, { completed }) => sum + completed, 0);
  return flows.map((flow) =>
    isMeant(flow) ? of(flow, total === 0 ? 1 / meant.length : flow.completed / total) : flow,
  );
}

/** A flow before anything was counted. */
export const EMPTY_FLOW = { ...NO_COUNTERS, cluster: "", mtlsShare: undefined, protocol: "http" as const, faults: 0 };

function aborted(flow: NamedFlow, count: number, rules: FaultContext["rules"]): NamedFlow {
  const isServer = (rules.get(flow.host)?.abortStatus ?? 503) >= 500;
  return {
    ...flow,
    completed: flow.completed + count,
    errors: flow.errors + (isServer ? count : 0),
    clientErrors: flow.clientErrors + (isServer ? 0 : count),
    faults: flow.faults + count,
  };
}

/** Envoy counts the requests, the rule says for how long: that many of the measured times are longer by it. */
function delayed(flow: NamedFlow, count: number, rules: FaultContext["rules"]): NamedFlow {
  const { delayMs = 0 } = rules.get(flow.host) ?? {};
  const part = flow.completed === 0 ? 1 : Math.min(1, count / flow.completed);
  const time = flow.time.flatMap(({ lower, width, count: all }) => [
    { lower, width, count: all * (1 - part) },
    { lower: lower + delayMs, width, count: all * part },
  ]);
  return {
    ...flow,
    time: time.filter((bin) => bin.count > 0).sort((a, b) => a.lower - b.lower),
    faults: flow.faults + count,
  };
}
