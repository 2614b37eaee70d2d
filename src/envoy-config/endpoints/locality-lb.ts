import type { LocalityLbSetting } from "../../istio-api/mesh-config/mesh-config.ts";
import type { ZoneAwareLb } from "../../istio-api/specs.ts";
import { NODE_LABEL, TOPOLOGY } from "../../istio-api/values/topology-labels.ts";
import { type Locality, parseLocality } from "../../mesh-model/locality.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { Service } from "../../mesh-model/service.ts";
import type {
  Cluster_CommonLbConfig,
  Cluster_CommonLbConfig_ZoneAwareLbConfig,
} from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { EffectivePolicy } from "../shared/traffic-policy.ts";
import type { LocalityGroup } from "./lb-endpoint.ts";

/** Where traffic of a locality goes, after all sources are looked at. */
export interface LocalitySetting {
  readonly distribute: readonly Distribution[];
  readonly failover: readonly { readonly from: string; readonly to: string }[];
  readonly failoverPriority: readonly string[];
  /** Endpoints get priorities. */
  readonly hasPriorities: boolean;
  /** Envoy balances zones by where the clients' own workloads are. */
  readonly zoneAware?: Cluster_CommonLbConfig_ZoneAwareLbConfig;
}

interface Distribution {
  readonly from: string;
  readonly to: Readonly<Record<string, number>>;
}

/**
 * The rule's setting, else what the service itself asks for, else the mesh's; on each level the balancing of zones by Envoy first.
 * Undefined: localities do not matter.
 */
export function localitySetting(
  mesh: MeshSettings,
  { loadBalancer, outlierDetection }: Pick<EffectivePolicy, "loadBalancer" | "outlierDetection">,
  service: Pick<Service, "trafficDistribution">,
): LocalitySetting | undefined {
  const { zoneAwareLbSetting, localityLbSetting } = loadBalancer ?? {};
  if (zoneAwareLbSetting !== undefined) return zoneAware(zoneAwareLbSetting);
  if (localityLbSetting !== undefined) return byLocality(localityLbSetting, outlierDetection !== undefined);
  if (service.trafficDistribution !== undefined) {
    const failoverPriority = NEAR[service.trafficDistribution];
    return { distribute: [], failover: [], failoverPriority, hasPriorities: true };
  }
  if (mesh.zoneAwareLb !== undefined) return zoneAware(mesh.zoneAwareLb);
  return byLocality(mesh.localityLb, outlierDetection !== undefined);
}

/** Without outlier detection Envoy never sees a reason to leave the first priority. */
function byLocality(setting: LocalityLbSetting, canFail: boolean): LocalitySetting | undefined {
  if (setting.enabled === false) return undefined;
  const { distribute = [], failover = [], failoverPriority = [] } = setting;
  return {
    distribute: distribute.map(({ from = "", to = {} }) => ({ from, to })),
    failover: failover.map(({ from = "", to = "" }) => ({ from, to })),
    failoverPriority,
    hasPriorities: canFail && distribute.length === 0,
  };
}

/** Regions have different priorities, so that Envoy balances only zones of one. */
function zoneAware({ enabled, failover, failoverPriority, minClusterSize }: ZoneAwareLb): LocalitySetting {
  const isOn = enabled !== false;
  const config = {
    ...(!isOn && { routingEnabled: {} }),
    ...(minClusterSize !== undefined && { minClusterSize: String(minClusterSize) }),
  };
  return { distribute: [], failover, failoverPriority, hasPriorities: isOn, zoneAware: config };
}

/** How Envoy balances localities of one priority: by weights where the user gave them or a failover order, or by zones. */
export function localityBalancing(
  setting: LocalitySetting | undefined,
): Pick<Cluster_CommonLbConfig, "localityWeightedLbConfig" | "zoneAwareLbConfig"> {
  if (setting === undefined) return {};
  const { distribute, failover, failoverPriority, hasPriorities, zoneAware: zoneAwareLbConfig } = setting;
  if (zoneAwareLbConfig !== undefined) return { zoneAwareLbConfig };
  const isWeighted = distribute.length > 0 || (hasPriorities && failover.length + failoverPriority.length > 0);
  return isWeighted ? { localityWeightedLbConfig: {} } : {};
}

const ZONE = [TOPOLOGY.network, TOPOLOGY.region, TOPOLOGY.zone] as const;
const NEAR: Readonly<Record<NonNullable<Service["trafficDistribution"]>, readonly string[]>> = {
  PreferSameZone: ZONE,
  PreferSameNode: [...ZONE, TOPOLOGY.subzone, NODE_LABEL],
};

/**
 * Shares traffic of the client's locality among others by percent; what a percentage covers is shared by its own weights. Localities that
 * are not named get nothing. Without a distribution for the client everything stays as it is.
 */
export function distributeByWeight(
  groups: readonly LocalityGroup[],
  client: Locality,
  distributions: readonly Distribution[],
): readonly LocalityGroup[] {
  const chosen = distributions.find(({ from }) => covers(from, client));
  if (chosen === undefined) return groups;
  const shares = Object.entries(chosen.to);
  const shareOf = groups.map(({ locality }) => shares.find(([pattern]) => covers(pattern, locality)));
  const totals = new Map<string, number>();
  groups.forEach(({ weight }, index) => {
    const pattern = shareOf[index]?.[0];
    if (pattern !== undefined) totals.set(pattern, (totals.get(pattern) ?? 0) + weight);
  });
  return groups.flatMap((group, index) => {
    const [pattern, percent = 0] = shareOf[index] ?? [];
    if (pattern === undefined || percent === 0) return [];
    return [{ ...group, weight: Math.ceil((group.weight * percent) / (totals.get(pattern) ?? 1)) }];
  });
}

/** `region/zone/*`, `region/*`, `*`; parts that are not said cover everything. */
function covers(pattern: string, { region, zone, subzone }: Locality): boolean {
  const wanted = parseLocality(pattern);
  const isAny = (part: string) => part === "*" || part === "";
  return (
    (wanted.region === "*" || wanted.region === region) &&
    (isAny(wanted.zone) || wanted.zone === zone) &&
    (isAny(wanted.subzone) || wanted.subzone === subzone)
  );
}

/** Of how many healthy endpoints all are used, as the rule says. A service whose near endpoints come first needs to know which are well. */
export function panicPercent(
  { outlierDetection }: Pick<EffectivePolicy, "outlierDetection">,
  { trafficDistribution }: Pick<Service, "trafficDistribution">,
): number {
  return trafficDistribution === undefined ? (outlierDetection?.minHealthPercent ?? 0) : 0;
}
