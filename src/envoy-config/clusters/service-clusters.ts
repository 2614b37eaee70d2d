import type { Protocol } from "../../istio-api/values/protocol.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { hasSessions, isDynamic, type Service, type ServicePort } from "../../mesh-model/service.ts";
import { constantMessage } from "../../protobuf/envoy/index.ts";
import type {
  Cluster,
  Cluster_DiscoveryType,
  Cluster_EdsClusterConfig,
} from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { LocalityLbEndpoints } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import { formatProtoDuration } from "../../protobuf/proto-duration.ts";
import { type AssignmentTarget, candidates, loadAssignment } from "../endpoints/load-assignment.ts";
import { localitySetting } from "../endpoints/locality-lb.ts";
import { clusterName, sniOf, statNamed } from "../shared/cluster-name.ts";
import { dynamicClusterType } from "../shared/dynamic-dns.ts";
import { headerCase } from "../shared/header-case.ts";
import { originMetadata } from "../shared/origin-metadata.ts";
import { type EffectivePolicy, effectivePolicy } from "../shared/traffic-policy.ts";
import { servedService, serviceMetadata } from "../telemetry/metric-tags.ts";
import { describesPeers } from "../telemetry/metrics.ts";
import { circuitBreakers, upstreamConnection } from "./connection-pool.ts";
import { commonBalancing, loadBalancing } from "./load-balancer.ts";
import { outlierDetection } from "./outlier-detection.ts";
import { httpOptions, upstreamProtocol } from "./upstream-http.ts";
import { autoMtls, clientTransport, identitiesOf } from "./upstream-tls.ts";

/** Protocols that say in the open which name is called. */
const NAMING: ReadonlySet<Protocol> = new Set(["HTTP", "HTTP2", "GRPC", "TLS"]);

/** One cluster per port of the service, and one more per port and subset of its rule. */
export function serviceClusters(scope: OutboundScope, service: Service): readonly Cluster[] {
  if (isDynamic(service)) return dynamicClusters(scope, service);
  if (RESOLUTION_TYPES[service.resolution] === undefined) return [];
  const subsets = scope.destinationRule(service)?.spec.subsets.map(({ name }) => name) ?? [];
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP");
  const names = ["", ...new Set(subsets)];
  return ports.flatMap((port) => names.flatMap((subset) => serviceCluster(scope, service, port, subset) ?? []));
}

/** Aliases have no cluster of their own. */
const RESOLUTION_TYPES: Readonly<Record<Service["resolution"], Cluster_DiscoveryType | undefined>> = {
  ClientSideLB: "EDS",
  DNSLB: "STRICT_DNS",
  DNSRoundRobinLB: "LOGICAL_DNS",
  Passthrough: "ORIGINAL_DST",
  Alias: undefined,
  DynamicDNS: undefined,
};

/** Undefined for a name service without anything to look up. */
function serviceCluster(
  scope: OutboundScope,
  service: Service,
  port: ServicePort,
  subset: string,
): Cluster | undefined {
  const { mesh, traits } = scope;
  const name = clusterName("outbound", port.port, subset, service.hostname);
  const policy = effectivePolicy(scope.destinationRule(service), port.port, subset, mesh.defaultTrafficPolicy);
  const type = clusterType(service, policy, traits.type);
  const preservesHeaderCase = traits.preservesHeaderCase ?? mesh.preservesHeaderCase;
  const source = endpointSource(scope, { name, service, port, subset }, type);
  if (source === undefined) return undefined;
  const pool = policy.connectionPool;
  const upstream = upstreamProtocol(port.protocol, {
    pool,
    upgradesToHttp2: mesh.source.h2UpgradePolicy === "UPGRADE",
    preservesHeaderCase,
    proxy: traits.type,
  });
  const transport = clientTransport({
    policy,
    protocol: port.protocol,
    upstream,
    sni: sniOf("outbound", port.port, subset, service.hostname),
    identities: identitiesOf(scope, service),
    autoMtls: autoMtls(scope, service, type),
    files: traits.clientTls,
    defaults: mesh.tlsDefaults,
    proxy: traits.type,
  });
  return {
    ...statNamed(name),
    type,
    ...source,
    ...upstreamConnection(mesh, pool),
    ...(type === "ORIGINAL_DST" ? { lbPolicy: "CLUSTER_PROVIDED" } : loadBalancing(policy.loadBalancer)),
    ...commonBalancing(policy, localitySetting(mesh, policy, service), {
      service,
      keepsSessions: subset === "" && hasSessions(service),
    }),
    circuitBreakers: circuitBreakers(pool, policy.retryBudget),
    ...(policy.outlierDetection && { outlierDetection: outlierDetection(policy.outlierDetection) }),
    ...transport.sockets,
    ...describedCluster(scope, service),
    ...httpOptions(upstream, pool, {
      upstreamHttpProtocolOptions: transport.http,
      http1: headerCase(port.protocol, preservesHeaderCase),
    }),
  };
}

/** PASSTHROUGH goes to the address that the client called, regardless of the service's resolution. */
function clusterType(
  { resolution }: Service,
  { loadBalancer }: EffectivePolicy,
  proxy: "sidecar" | "router",
): Cluster_DiscoveryType {
  // Connections to a router are to its own address, so that their address says nothing about the service.
  if (proxy === "router" && resolution === "Passthrough") return "EDS";
  if (loadBalancer?.simple === "PASSTHROUGH") return "ORIGINAL_DST";
  return RESOLUTION_TYPES[resolution] ?? "STATIC";
}

type EndpointSource = Pick<
  Cluster,
  "originalDstLbConfig" | "edsClusterConfig" | "loadAssignment" | "dnsLookupFamily" | "dnsRefreshRate" | "respectDnsTtl"
>;

function endpointSource(
  scope: OutboundScope,
  target: AssignmentTarget,
  type: Cluster_DiscoveryType,
): EndpointSource | undefined {
  if (type === "ORIGINAL_DST") return originalDestination(target.port);
  if (type === "EDS") return { edsClusterConfig: EDS };
  const assignment = loadAssignment(scope, target);
  const { endpoints = [] } = assignment;
  // A distribution may leave nothing to this client, and the cluster still says so; Envoy wants a logical host to have a name.
  const isServed = type === "STRICT_DNS" && candidates(scope, target).length > 0;
  if (endpoints.length === 0 && !isServed) return undefined;
  return {
    loadAssignment: type === "LOGICAL_DNS" ? { ...assignment, endpoints: onlyName(endpoints) } : assignment,
    dnsLookupFamily: scope.traits.ipv4 ? "V4_ONLY" : "V6_ONLY",
    dnsRefreshRate: formatProtoDuration(BigInt(Math.round(scope.mesh.dnsRefreshRateMs * 1e6))),
    respectDnsTtl: true,
  };
}

function originalDestination({ calledPort }: ServicePort): EndpointSource {
  return calledPort === undefined ? {} : { originalDstLbConfig: { upstreamPortOverride: calledPort } };
}

/** One name is all that Envoy takes for a logical host: the first of those that are tried first. */
function onlyName(endpoints: readonly LocalityLbEndpoints[]): readonly LocalityLbEndpoints[] {
  const first = endpoints.find(({ priority = 0 }) => priority === 0);
  const [name] = first?.lbEndpoints ?? [];
  return name === undefined
    ? []
    : [{ ...first, lbEndpoints: [name], loadBalancingWeight: name.loadBalancingWeight ?? 1 }];
}

/** Asked for by the name of the cluster. Zero: a cluster waits for its endpoints, as an answer always comes. */
const EDS = constantMessage<Cluster_EdsClusterConfig>({
  edsConfig: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
});

/** Clusters of a service whose names are looked up as they are called. It has no endpoints that subsets could choose among. */
function dynamicClusters(scope: OutboundScope, service: Service): readonly Cluster[] {
  return service.ports
    .filter(({ protocol }) => NAMING.has(protocol))
    .map((port) => dynamicCluster(scope, service, port));
}

function dynamicCluster(scope: OutboundScope, service: Service, { port, protocol }: ServicePort): Cluster {
  const { mesh, traits } = scope;
  const policy = effectivePolicy(scope.destinationRule(service), port, "", mesh.defaultTrafficPolicy);
  const preservesHeaderCase = traits.preservesHeaderCase ?? mesh.preservesHeaderCase;
  const pool = policy.connectionPool;
  const upgradesToHttp2 = mesh.source.h2UpgradePolicy === "UPGRADE";
  const upstream = upstreamProtocol(protocol, { pool, upgradesToHttp2, preservesHeaderCase });
  const transport = clientTransport({
    policy,
    protocol,
    upstream,
    sni: "",
    identities: [],
    autoMtls: autoMtls(scope, service, "STATIC"),
    files: traits.clientTls,
    defaults: mesh.tlsDefaults,
    isDynamic: true,
  });
  const { autoSni = false, autoSanValidation = false } = transport.http ?? {};
  const options = httpOptions(upstream, pool, {
    upstreamHttpProtocolOptions: transport.http,
    http1: headerCase(protocol, preservesHeaderCase),
  });
  const isTls = policy.tls !== undefined && policy.tls.mode !== "DISABLE";
  const isSaid = isTls || options.typedExtensionProtocolOptions !== undefined;
  return {
    ...statNamed(clusterName("outbound", port, "", service.hostname)),
    // Who says anything of HTTP or TLS must also say that servers are asked for by the name that was called and prove it, or that
    // they need not: Envoy refuses a cluster that leaves it open.
    ...dynamicClusterType(traits, isSaid && !(autoSni && autoSanValidation)),
    lbPolicy: "CLUSTER_PROVIDED",
    ...upstreamConnection(mesh, pool),
    circuitBreakers: circuitBreakers(pool, policy.retryBudget),
    ...(policy.outlierDetection && { outlierDetection: outlierDetection(policy.outlierDetection) }),
    ...transport.sockets,
    ...describedCluster(scope, service),
    ...options,
  };
}

/** Whom the cluster is for, for metrics, and which rule it follows, for people who look at what an Envoy has. */
function describedCluster(scope: OutboundScope, service: Service): Pick<Cluster, "metadata"> {
  const rule = scope.destinationRule(service);
  const filterMetadata = {
    ...(describesPeers(scope) ? serviceMetadata(servedService(service)) : {}),
    ...(rule === undefined ? {} : originMetadata("destination-rule", rule.object)),
  };
  return Object.keys(filterMetadata).length === 0 ? {} : { metadata: { filterMetadata } };
}
