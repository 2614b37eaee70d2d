import type { Service } from "../../model/service.ts";
import type { MeshSettings } from "../../snapshot/mesh-settings.ts";
import type { EffectivePolicy } from "../traffic-policy.ts";

/** Where traffic of a locality goes, after all sources are looked at. */
export interface LocalitySetting {
  readonly distribute: readonly Distribution[];
  readonly failover: readonly { readonly from: string; readonly to: string }[];
  readonly failoverPriority: readonly string[];
  /** Endpoints get priorities. Without outlier detection Envoy never sees a reason to leave the first one. */
  readonly hasPriorities: boolean;
}

export interface Distribution {
  readonly from: string;
  readonly to: Readonly<Record<string, number>>;
}

/** The rule's setting, else what the service itself asks for, else the mesh's. Undefined: localities do not matter. */
export function localitySetting(
  mesh: MeshSettings,
  { loadBalancer, outlierDetection }: EffectivePolicy,
  service: Pick<Service, "trafficDistribution">,
): LocalitySetting | undefined {
  const own = loadBalancer?.localityLbSetting;
  const near = own === undefined ? NEAR[service.trafficDistribution ?? ""] : undefined;
  if (near !== undefined) return { distribute: [], failover: [], failoverPriority: near, hasPriorities: true };
  const setting = own ?? mesh.localityLb;
  if (setting.enabled === false) return undefined;
  const { distribute = [], failover = [], failoverPriority = [] } = setting;
  return {
    distribute: distribute.map(({ from = "", to = {} }) => ({ from, to })),
    failover: failover.map(({ from = "", to = "" }) => ({ from, to })),
    failoverPriority,
    hasPriorities: outlierDetection !== undefined && distribute.length === 0,
  };
}

/** Weights of localities are looked at where the user gave them, or said what follows what. */
export function isLocalityWeighted(setting: LocalitySetting | undefined): boolean {
  if (setting === undefined) return false;
  const { distribute, failover, failoverPriority, hasPriorities } = setting;
  return distribute.length > 0 || (hasPriorities && failover.length + failoverPriority.length > 0);
}

export const TOPOLOGY = {
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  subzone: "topology.istio.io/subzone",
  network: "topology.istio.io/network",
  cluster: "topology.istio.io/cluster",
} as const;

const NEAR: Readonly<Record<string, readonly string[]>> = {
  PreferClose: [TOPOLOGY.network, TOPOLOGY.region, TOPOLOGY.zone, TOPOLOGY.subzone],
  PreferSameZone: [TOPOLOGY.network, TOPOLOGY.region, TOPOLOGY.zone],
  PreferSameNode: [TOPOLOGY.network, TOPOLOGY.region, TOPOLOGY.zone, TOPOLOGY.subzone, "kubernetes.io/hostname"],
};
