import type { CachingSource, ResourceProblem } from "../envoy-config/index.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { Connection } from "./ads/connection.ts";
import type { AggregateRegistry } from "./registries/create-aggregate-registry.ts";

/** What the mesh holds at one moment. */
export interface MeshFigures {
  readonly services: number;
  readonly virtualServices: number;
  readonly servicesWithoutEndpoints: number;
  readonly endpointsNotReady: number;
  readonly endpointsWithoutPod: number;
  readonly dnsWithoutEndpoints: number;
  readonly sidecarsWithoutService: number;
  readonly conflicts: Conflicts;
}

interface FigureSources {
  readonly registry: Pick<AggregateRegistry, "services" | "endpoints">;
  readonly endpointsWithoutPod: () => number;
}

/** Counts what the mesh holds, at each scrape. */
export function meshFigures(
  { configs, view }: Pick<PushSnapshot, "configs" | "view">,
  { registry, endpointsWithoutPod }: FigureSources,
  proxies: readonly Pick<Connection, "node" | "view">[],
  source: Pick<CachingSource, "problems">,
): MeshFigures {
  const services = registry.services();
  const empty = services.filter(({ key }) => registry.endpoints(key).length === 0);
  const isNotReady = (health: string) => health !== "Healthy" && health !== "Unknown";
  return {
    services: services.length,
    virtualServices: configs.list("VirtualService").length,
    servicesWithoutEndpoints: empty.length,
    endpointsNotReady: services.flatMap(({ key }) => registry.endpoints(key)).filter(({ health }) => isNotReady(health))
      .length,
    endpointsWithoutPod: endpointsWithoutPod(),
    sidecarsWithoutService: proxies.filter(
      ({ node }) => node.type === "sidecar" && view(node).inbound.targets.length === 0,
    ).length,
    conflicts: resourceConflicts(proxies, source),
    dnsWithoutEndpoints: empty.filter(({ resolution }) => resolution.startsWith("DNS")).length,
  };
}

/** By metric, then by the name that is used twice. */
export type Conflicts = Readonly<Record<ConflictMetric, Readonly<Record<string, Conflict>>>>;

interface Conflict {
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
