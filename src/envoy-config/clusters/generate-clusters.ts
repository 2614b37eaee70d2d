import { objectKey } from "../../istio-api/config-object.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { BindConfig, Http1ProtocolOptions } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { passthroughClusters } from "../gateway/l4-chains.ts";
import { acceptsTunnels, TUNNEL_CLUSTER } from "../listeners/tunnel.ts";
import { plainly } from "../shared/attempt.ts";
import {
  BLACK_HOLE_CLUSTER,
  INBOUND_PASSTHROUGH_CLUSTER,
  PASSTHROUGH_CLUSTER,
  statNamed,
} from "../shared/cluster-name.ts";
import { PRESERVED_CASE } from "../shared/header-case.ts";
import { effectivePolicy } from "../shared/traffic-policy.ts";
import { refusedTls } from "../tls/client-tls.ts";
import { circuitBreakers, upstreamConnection } from "./connection-pool.ts";
import { inboundBind, inboundClusters } from "./inbound-clusters.ts";
import { serviceClusters } from "./service-clusters.ts";
import { unknownHostsCluster } from "./unknown-hosts.ts";

/** Clusters for all services that the scope shows; where two have one name, the first stays. */
export function generateOutboundClusters(scope: OutboundScope): readonly Cluster[] {
  const clusters = new Map<string | undefined, Cluster>();
  for (const service of scope.services) {
    for (const cluster of clustersOfService(scope, service)) {
      if (!clusters.has(cluster.name)) clusters.set(cluster.name, cluster);
    }
  }
  return [...clusters.values()];
}

export function clustersOfService(scope: OutboundScope, service: Service): readonly Cluster[] {
  const clusters = serviceClusters(scope, service);
  return service.meshExternal ? clusters : [...clusters, ...passthroughClusters(scope, clusters)];
}

/** Clusters that follow from the workload itself: its own ports, and what is done with traffic that no rule knows. */
export function generateInboundClusters(view: ProxyView, attempt = plainly): readonly Cluster[] {
  const { node, snapshot } = view;
  if (node.type !== "sidecar") return [blackHoleCluster(snapshot.mesh)];
  const preservesCase = node.preservesHeaderCase ?? snapshot.mesh.preservesHeaderCase;
  return [
    ...fixedClusters(snapshot.mesh, inboundBind(node), preservesCase),
    ...unknownHostsCluster(snapshot.mesh, node, preservesCase),
    ...(acceptsTunnels(node) ? [TUNNEL_CLUSTER] : []),
    ...inboundClusters(view, attempt),
  ];
}

/** Rules of the service that its clusters cannot follow: the cluster answers every call itself, and an operator should know why. */
export function clusterProblems(scope: OutboundScope, service: Service): readonly string[] {
  const rule = scope.destinationRule(service);
  if (rule === undefined) return [];
  const subsets = ["", ...rule.spec.subsets.map(({ name }) => name)];
  const reasons = service.ports.flatMap(({ port }) =>
    subsets.flatMap((subset) => {
      const { tls } = effectivePolicy(rule, port, subset);
      return (tls && refusedTls(tls, scope.traits.type)) ?? [];
    }),
  );
  return [...new Set(reasons)].map((reason) => `${objectKey(rule.object)}: ${service.hostname}: ${reason}`);
}

/** Traffic that no rule knows: let through to where it was going, in both directions, or ended. */
function fixedClusters(mesh: MeshSettings, bind: BindConfig, preservesHeaderCase: boolean): readonly Cluster[] {
  const { connectionPool } = mesh.defaultTrafficPolicy;
  const connection = upstreamConnection(mesh, connectionPool);
  const passthrough: Cluster = {
    type: "ORIGINAL_DST",
    ...connection,
    lbPolicy: "CLUSTER_PROVIDED",
    circuitBreakers: circuitBreakers(connectionPool),
    typedExtensionProtocolOptions: preservesHeaderCase ? FOLLOW_CLIENT_EXACTLY : FOLLOW_CLIENT,
  };
  return [
    blackHoleCluster(mesh),
    { ...passthrough, ...statNamed(PASSTHROUGH_CLUSTER) },
    { ...passthrough, ...statNamed(INBOUND_PASSTHROUGH_CLUSTER), upstreamBindConfig: bind },
  ];
}

/** Closes every connection. */
function blackHoleCluster(mesh: MeshSettings): Cluster {
  return {
    ...statNamed(BLACK_HOLE_CLUSTER),
    type: "STATIC",
    connectTimeout: upstreamConnection(mesh, undefined).connectTimeout,
  };
}

const HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** The protocol of the client; idle connections to unknown destinations are closed. */
const FOLLOW_CLIENT = followClient({});
const FOLLOW_CLIENT_EXACTLY = followClient(PRESERVED_CASE);

function followClient(httpProtocolOptions: Http1ProtocolOptions): Cluster["typedExtensionProtocolOptions"] {
  const options = {
    commonHttpProtocolOptions: { idleTimeout: "300s" },
    useDownstreamProtocolConfig: { httpProtocolOptions, http2ProtocolOptions: {} },
  };
  return { [HTTP_OPTIONS]: pack(HTTP_OPTIONS, options) };
}
