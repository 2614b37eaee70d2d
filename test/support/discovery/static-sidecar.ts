import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  generateInboundClusters,
  generateOutboundClusters,
} from "../../../src/envoy-config/clusters/generate-clusters.ts";
import { generateEndpoints } from "../../../src/envoy-config/endpoints/load-assignment.ts";
import { generateInboundListeners } from "../../../src/envoy-config/listeners/inbound.ts";
import { generateOutboundListeners } from "../../../src/envoy-config/listeners/outbound.ts";
import { generateRoute } from "../../../src/envoy-config/routes/generate-route.ts";
import type { ProxyView } from "../../../src/mesh-model/push-snapshot.ts";
import type { Cluster } from "../../../src/protobuf/gen/envoy/config/cluster/v3.ts";

/**
 * A bootstrap that has everything a sidecar would be sent: endpoints stand in their clusters, routes in files of the folder. For proxies
 * that need no certificates.
 */
export function staticSidecar(view: ProxyView, folder: string): object {
  const listeners = [
    ...generateOutboundListeners(view.outbound).listeners,
    ...generateInboundListeners(view).listeners,
  ];
  const clusters = [...generateOutboundClusters(view.outbound), ...generateInboundClusters(view)];
  const text = JSON.stringify(listeners, (key, value) => (key === "rds" ? fromFile(view, folder, value) : value));
  return {
    node: { id: "test", cluster: "test" },
    staticResources: { listeners: JSON.parse(text), clusters: clusters.map((cluster) => inlined(view, cluster)) },
  };
}

function fromFile({ outbound }: ProxyView, folder: string, { routeConfigName }: { routeConfigName: string }): object {
  const path = join(folder, `${encodeURIComponent(routeConfigName)}.json`);
  const type = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
  const resources = [{ "@type": type, ...generateRoute(outbound, routeConfigName) }];
  writeFileSync(path, JSON.stringify({ resources }));
  return { routeConfigName, configSource: { pathConfigSource: { path }, resourceApiVersion: "V3" } };
}

function inlined({ outbound }: ProxyView, cluster: Cluster): Cluster {
  if (cluster.type !== "EDS") return cluster;
  const { edsClusterConfig: _, ...rest } = cluster;
  return { ...rest, type: "STATIC", loadAssignment: generateEndpoints(outbound, cluster.name ?? "") };
}
