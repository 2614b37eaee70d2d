import { TOPOLOGY } from "../../istio-api/values/topology-labels.ts";
import type { Endpoint } from "../../mesh-model/endpoint.ts";
import type { Locality } from "../../mesh-model/locality.ts";
import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import { group, type LocalityGroup } from "./lb-endpoint.ts";
import type { LocalitySetting } from "./locality-lb.ts";

export type FailoverClient = Pick<ScopeTraits, "labels" | "locality" | "network" | "clusterId">;

/** Endpoints in the order in which they are tried; priorities count from 0 without gaps, as Envoy demands. */
export function failover(
  groups: readonly LocalityGroup[],
  client: FailoverClient,
  setting: Pick<LocalitySetting, "failover" | "failoverPriority" | "zoneAware">,
): readonly LocalityGroup[] {
  const byLabels = setting.failoverPriority.length > 0;
  const labelled = byLabels ? groups.flatMap((each) => splitByLabels(each, client, setting.failoverPriority)) : groups;
  if (setting.zoneAware !== undefined)
    return withoutGaps(labelled.map((each) => below(each, regionStep(client, each, setting.failover))));
  const usesLocality = !byLabels || setting.failover.length > 0;
  return withoutGaps(
    usesLocality
      ? labelled.map((each) => below(each, distance(client.locality, each.locality, setting.failover)))
      : labelled,
  );
}

/** The label values of a client that an order of failover compares, as `splitByLabels` sees them. */
export function failoverValues(client: FailoverClient, order: readonly string[]): readonly string[] {
  return order.map((entry) => wantedValue(entry, client));
}

/** The more leading labels agree, the earlier. */
function splitByLabels(
  each: LocalityGroup,
  client: FailoverClient,
  order: readonly string[],
): readonly LocalityGroup[] {
  const wanted = failoverValues(client, order);
  const byPriority = new Map<number, Endpoint[]>();
  for (const endpoint of each.endpoints) {
    const priority = disagreement(order, wanted, endpoint);
    const there = byPriority.get(priority);
    if (there === undefined) byPriority.set(priority, [endpoint]);
    else there.push(endpoint);
  }
  return [...byPriority]
    .toSorted(([a], [b]) => a - b)
    .map(([priority, endpoints]) => group(each.locality, endpoints, priority));
}

/**
 * How far down the order the endpoint comes. Another network is worse than anything else, but the rest of the order still counts
 * there, where the network is the first thing to compare.
 */
function disagreement(order: readonly string[], wanted: readonly string[], endpoint: Endpoint): number {
  const differs = (entry: string, index: number) => (endpoint.labels[labelName(entry)] ?? "") !== wanted[index];
  const isElsewhere = order[0] === TOPOLOGY.network && differs(order[0], 0);
  const first = order.findIndex((entry, index) => !(isElsewhere && index === 0) && differs(entry, index));
  return (isElsewhere ? order.length : 0) + (first === -1 ? 0 : order.length - first);
}

/** `name` compares with the client's own label, `name=value` with the value. */
function wantedValue(entry: string, client: FailoverClient): string {
  const split = entry.indexOf("=");
  return split === -1 ? labelOf(entry, client) : entry.slice(split + 1);
}

function labelName(entry: string): string {
  return entry.split("=", 1)[0] ?? entry;
}

/** Labels of the topology need not be written on a client: they follow from its locality. */
function labelOf(name: string, { labels, locality, network, clusterId }: FailoverClient): string {
  const written = Object.hasOwn(labels, name) ? labels[name] : undefined;
  if (written !== undefined) return written;
  switch (name) {
    case TOPOLOGY.region:
      return locality.region;
    case TOPOLOGY.zone:
      return locality.zone;
    case TOPOLOGY.subzone:
      return locality.subzone;
    case TOPOLOGY.network:
      return network;
    case TOPOLOGY.cluster:
      return clusterId;
    default:
      return "";
  }
}

const STEPS = 5;

/** Below an order by labels, which stays the more important one. */
function below(each: LocalityGroup, step: number): LocalityGroup {
  return { ...each, priority: each.priority * STEPS + step };
}

/** Zones of the client's region are balanced by Envoy itself: 0 the same region, 1 where the user said, 2 elsewhere. */
function regionStep({ locality }: FailoverClient, each: LocalityGroup, targets: LocalitySetting["failover"]): number {
  if (each.locality.region === locality.region) return 0;
  const target = targets.find(({ from }) => from === locality.region);
  return target?.to === each.locality.region ? 1 : 2;
}

/** 0 the same subzone, 1 the same zone, 2 the same region, 3 elsewhere, 4 elsewhere but not where the user said. */
function distance(client: Locality, other: Locality, targets: LocalitySetting["failover"]): number {
  if (client.region === other.region) {
    if (client.zone !== other.zone) return 2;
    return client.subzone === other.subzone ? 0 : 1;
  }
  const target = targets.find(({ from }) => from === client.region);
  return target === undefined || target.to === other.region ? 3 : 4;
}

function withoutGaps(groups: readonly LocalityGroup[]): readonly LocalityGroup[] {
  const used = [...new Set(groups.map(({ priority }) => priority))].toSorted((a, b) => a - b);
  return groups.map((each) => ({ ...each, priority: used.indexOf(each.priority) }));
}
