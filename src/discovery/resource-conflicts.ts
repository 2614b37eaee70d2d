import type { CachingSource, ResourceProblem } from "../envoy-config/index.ts";
import type { Connection } from "./ads/connection.ts";

/** By metric, then by the place that is asked for twice. */
export type Conflicts = Readonly<Record<ConflictMetric, Readonly<Record<string, Conflict>>>>;

export interface Conflict {
  /** One of the proxies that it shows at. */
  readonly proxy: string;
  readonly message: string;
}

export const CONFLICT_METRICS = {
  pilot_conflict_outbound_listener_tcp_over_current_tcp: "Listeners that several TCP services ask for.",
  pilot_conflict_inbound_listener: "Target ports that several services of a workload lead to.",
  pilot_duplicate_envoy_clusters: "Names that several clusters ask for.",
} as const;

export type ConflictMetric = keyof typeof CONFLICT_METRICS;

/** What the connected proxies cannot be given together at this moment. */
export function resourceConflicts(
  connections: readonly Pick<Connection, "node" | "view">[],
  { problems }: Pick<CachingSource, "problems">,
): Conflicts {
  const found: Record<ConflictMetric, Record<string, Conflict>> = {
    pilot_conflict_outbound_listener_tcp_over_current_tcp: {},
    pilot_conflict_inbound_listener: {},
    pilot_duplicate_envoy_clusters: {},
  };
  for (const { node, view } of connections) {
    for (const problem of problems(view())) {
      const metric = metricOf(problem);
      if (metric === undefined) continue;
      found[metric][problem.resource] ??= { proxy: node.id, message: problem.reason };
    }
  }
  return found;
}

function metricOf({ conflict, isRepeated }: ResourceProblem): ConflictMetric | undefined {
  if (isRepeated) return "pilot_duplicate_envoy_clusters";
  if (conflict === "outbound-tcp") return "pilot_conflict_outbound_listener_tcp_over_current_tcp";
  return conflict === "inbound-port" ? "pilot_conflict_inbound_listener" : undefined;
}
