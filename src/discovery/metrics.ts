import { buildStamp } from "../base/build-stamp.ts";
import type { Gauge, MetricRegistry } from "../base/metric-registry.ts";
import { type CaServerMetrics, declareCaServerMetrics } from "../ca/index.ts";
import { type AdsMetrics, declareAdsMetrics } from "./ads-server/metrics.ts";
import type { ConflictKind } from "./generators/listeners.ts";
import { declarePushMetrics, type PushMetrics } from "./push/metrics.ts";

/** Everything the control plane counts. */
export interface DiscoveryMetrics {
  readonly ads: AdsMetrics;
  readonly push: PushMetrics;
  readonly ca: CaServerMetrics;
  readonly rejectedConfigs: Gauge;
  readonly conflicts: Readonly<Partial<Record<ConflictKind, Gauge>>>;
  /** Where figures about the mesh of this moment are read at each scrape. */
  setMeshSource(read: () => MeshFigures): void;
}

export interface MeshFigures {
  readonly services: number;
  readonly virtualServices: number;
  readonly destinationRuleSubsets: number;
  readonly servicesWithoutEndpoints: number;
  readonly endpointsNotReady: number;
  readonly dnsWithoutEndpoints: number;
}

export function declareDiscoveryMetrics(registry: MetricRegistry, uptimeSeconds: () => number): DiscoveryMetrics {
  let read: () => MeshFigures | undefined = () => undefined;
  const figure = (name: string, help: string, of: (figures: MeshFigures) => number) =>
    registry.gaugeOf({ name, help }, () => {
      const figures = read();
      return figures === undefined ? undefined : of(figures);
    });
  registry.gaugeOf({ name: "pilot_info", help: "The version of the server.", labels: ["version"] }, () => 1, [
    buildStamp.version,
  ]);
  registry.gaugeOf({ name: "istiod_uptime_seconds", help: "Seconds since the server started." }, uptimeSeconds);
  figure("pilot_services", "Services known.", (figures) => figures.services);
  figure("pilot_virt_services", "VirtualServices known.", (figures) => figures.virtualServices);
  figure("pilot_destrule_subsets", "Subsets of all DestinationRules.", (figures) => figures.destinationRuleSubsets);
  figure("pilot_eds_no_instances", "Services without endpoints.", (figures) => figures.servicesWithoutEndpoints);
  figure("pilot_endpoint_not_ready", "Endpoints that are not healthy.", (figures) => figures.endpointsNotReady);
  figure(
    "pilot_dns_cluster_without_endpoints",
    "Services that are resolved by DNS and have no endpoints.",
    (figures) => figures.dnsWithoutEndpoints,
  );
  return {
    ads: declareAdsMetrics(registry),
    push: declarePushMetrics(registry),
    ca: declareCaServerMetrics(registry),
    rejectedConfigs: registry.gauge({
      name: "pilot_total_rejected_configs",
      help: "Documents that are refused at the moment, and resources that were left out since the start.",
      labels: ["type"],
    }),
    conflicts: {
      "outbound-tcp": registry.gauge({
        name: "pilot_conflict_outbound_listener_tcp_over_current_tcp",
        help: "Services left out since the start because another one has their listener.",
      }),
      "inbound-port": registry.gauge({
        name: "pilot_conflict_inbound_listener",
        help: "Services left out since the start because another one has their target port.",
      }),
    },
    setMeshSource: (source) => {
      read = source;
    },
  };
}
