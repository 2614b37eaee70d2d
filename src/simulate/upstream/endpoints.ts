import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type {
  ClusterLoadAssignment,
  LbEndpoint,
  LocalityLbEndpoints,
} from "../../protobuf/gen/envoy/config/endpoint/v3.ts";

export interface ChosenEndpoint {
  readonly endpoint: LbEndpoint;
  readonly address: string;
  readonly port: number;
  /** How many of the cluster's requests it gets. */
  readonly share: number;
  readonly priority: number;
}

/** Endpoints that get requests, by priorities, localities, weights and health. Empty: no healthy upstream. */
export function chooseEndpoints(
  cluster: Cluster,
  assignment: ClusterLoadAssignment | undefined,
): readonly ChosenEndpoint[] {
  const groups = (assignment?.endpoints ?? []).filter(({ lbEndpoints = [] }) => lbEndpoints.length > 0);
  const levels = [...new Set(groups.map(({ priority = 0 }) => priority))].sort((a, b) => a - b);
  const factor = (assignment?.policy?.overprovisioningFactor ?? 140) / 100;
  const available = levels.map((level) => {
    const all = groups.filter(({ priority = 0 }) => priority === level).flatMap(({ lbEndpoints = [] }) => lbEndpoints);
    const usable = all.filter(isUsable).length;
    return Math.min(1, (usable / all.length) * factor);
  });
  const total = Math.min(
    1,
    available.reduce((sum, one) => sum + one, 0),
  );
  const panics =
    (cluster.commonLbConfig?.healthyPanicThreshold?.value ?? (cluster.commonLbConfig?.healthyPanicThreshold ? 0 : 50)) /
    100;
  let left = 1;
  return levels.flatMap((level, at) => {
    // Where all priorities together are not enough, what there is shares the requests.
    const load = total === 0 ? (at === 0 ? 1 : 0) : Math.min(left, (available[at] ?? 0) / total);
    left -= load;
    if (load <= 0) return [];
    const own = groups.filter(({ priority = 0 }) => priority === level);
    const all = own.flatMap(({ lbEndpoints = [] }) => lbEndpoints);
    const isPanicking = total < 1 && all.filter(isUsable).length / all.length < panics;
    return shareAmong(cluster, own, load, isPanicking ? () => true : isUsable);
  });
}

function shareAmong(
  cluster: Cluster,
  groups: readonly LocalityLbEndpoints[],
  load: number,
  isTaken: (endpoint: LbEndpoint) => boolean,
): readonly ChosenEndpoint[] {
  const byLocality = cluster.commonLbConfig?.localityWeightedLbConfig !== undefined;
  const weighted = groups.flatMap((group) => {
    const taken = (group.lbEndpoints ?? []).filter(isTaken);
    const sum = taken.reduce((all, { loadBalancingWeight = 1 }) => all + loadBalancingWeight, 0);
    const factor = byLocality ? (group.loadBalancingWeight ?? 0) / sum : 1;
    return taken.map((endpoint) => ({
      endpoint,
      priority: group.priority ?? 0,
      weight: (endpoint.loadBalancingWeight ?? 1) * factor,
    }));
  });
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  return weighted.flatMap(({ endpoint, priority, weight }) => {
    const { address = "", portValue = 0 } = endpoint.endpoint?.address?.socketAddress ?? {};
    const pipe = endpoint.endpoint?.address?.pipe?.path;
    if (weight === 0) return [];
    return [
      {
        endpoint,
        address: pipe ?? address,
        port: pipe === undefined ? portValue : 0,
        priority,
        share: load * (weight / total),
      },
    ];
  });
}

function isUsable({ healthStatus = "UNKNOWN" }: LbEndpoint): boolean {
  return healthStatus === "UNKNOWN" || healthStatus === "HEALTHY" || healthStatus === "DEGRADED";
}
