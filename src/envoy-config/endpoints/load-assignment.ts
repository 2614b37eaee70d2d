import { hostCovers } from "../../istio-api/values/hostname.ts";
import { NODE_LABEL } from "../../istio-api/values/topology-labels.ts";
import type { Endpoint } from "../../mesh-model/endpoint.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { selects } from "../../mesh-model/selector.ts";
import { findPort, hasSessions, type Service, type ServicePort } from "../../mesh-model/service.ts";
import type { ClusterLoadAssignment, LocalityLbEndpoints } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import { parseClusterName, parseServerName } from "../shared/cluster-name.ts";
import { type EffectivePolicy, effectivePolicy, findSubset } from "../shared/traffic-policy.ts";
import { endpointMtls } from "../shared/worlds.ts";
import { servedService } from "../telemetry/metric-tags.ts";
import { describesPeers } from "../telemetry/metrics.ts";
import { failover } from "./failover.ts";
import { groupByLocality, isCallable, type LbEndpointOptions, type LocalityGroup, lbEndpoint } from "./lb-endpoint.ts";
import { distributeByWeight, localitySetting, panicPercent } from "./locality-lb.ts";
import { type ReachableGroups, throughGateways } from "./network-gateways.ts";

/** The endpoints of one outbound cluster. A name that nothing is known of has none: a proxy that asks must get an answer. */
export function generateEndpoints(scope: OutboundScope, clusterName: string): ClusterLoadAssignment {
  const target = targetOf(scope, clusterName);
  return target === undefined ? { clusterName } : loadAssignment(scope, target);
}

/** Something is known of the name. */
export function isKnownAssignment(scope: OutboundScope, clusterName: string): boolean {
  return targetOf(scope, clusterName) !== undefined;
}

/** What the assignment of a cluster is made from; undefined where nothing is known of the name. */
export function assignedEndpoints(
  scope: OutboundScope,
  clusterName: string,
): { readonly service: Service; readonly endpoints: readonly Endpoint[] } | undefined {
  const target = targetOf(scope, clusterName);
  return target && { service: target.service, endpoints: candidates(scope, target) };
}

/** Several objects may share the ports of one host among them. */
function targetOf(scope: OutboundScope, name: string): AssignmentTarget | undefined {
  const plain = parseClusterName(name);
  const parsed = plain ?? parseServerName(name);
  if (parsed?.direction !== "outbound") return undefined;
  const { host, port: number, subset } = parsed;
  const first = scope.service(host);
  if (first === undefined) return undefined;
  const candidates = findPort(first, number) ? [first] : scope.services.filter(({ hostname }) => hostname === host);
  for (const service of candidates) {
    const port = findPort(service, number);
    if (port !== undefined) return { name, service, port, subset, onlyMtls: plain === undefined };
  }
  return undefined;
}

/** One cluster of a service, as its name says it. */
export interface AssignmentTarget {
  readonly name: string;
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
  /** TLS is passed on as it is, so that an endpoint without TLS would be called without any check of the client's certificate. */
  readonly onlyMtls?: boolean;
}

/** The endpoints of one cluster as a proxy of the scope should use them. Host names stay only in clusters that resolve them. */
export function loadAssignment(scope: OutboundScope, target: AssignmentTarget): ClusterLoadAssignment {
  const { name, service } = target;
  const policy = policyOf(scope, target);
  const reachable = reachableGroups(scope, target, policy);
  const options = {
    ...callable(scope, service),
    describedFor: describesPeers(scope) ? servedService(service) : undefined,
    isMtls: (endpoint: Endpoint) => reachable.gateways.has(endpoint) || isMtls(scope, endpoint, policy),
  };
  const groups = arrange(scope, reachable.groups, policy, service);
  return groups.length === 0
    ? { clusterName: name }
    : { clusterName: name, endpoints: groups.map((group) => toLocality(group, options)) };
}

/** By locality. Names that the proxy looks up itself are not of any network. */
function reachableGroups(scope: OutboundScope, target: AssignmentTarget, policy: EffectivePolicy): ReachableGroups {
  const { networks } = scope.snapshot;
  const groups = groupByLocality(withinBounds(candidates(scope, target), networks.weightScale));
  const isOpen = networks.gateways.length === 0 || target.service.resolution !== "ClientSideLB";
  if (isOpen) return { groups, gateways: new Set() };
  const { network } = scope.traits;
  return throughGateways(groups, { network, networks, isMtls: (endpoint) => isMtls(scope, endpoint, policy) });
}

/** All that a proxy of the scope could be given, wherever they are. */
export function candidates(scope: OutboundScope, target: AssignmentTarget): readonly Endpoint[] {
  const { service, port, subset } = target;
  const labels = subset === "" ? {} : findSubset(scope.destinationRule(service), subset)?.labels;
  if (labels === undefined) return [];
  const policy = policyOf(scope, target);
  const options = callable(scope, service);
  // What cannot be called must not leave a gap among the priorities either.
  return scope.snapshot
    .endpoints(service.key)
    .filter(
      (endpoint) =>
        endpoint.servicePortName === port.name &&
        isOffered(endpoint, service, policy) &&
        isInView(endpoint, scope, service) &&
        selects(labels, endpoint.labels) &&
        (target.onlyMtls !== true || isMtls(scope, endpoint, policy)) &&
        isCallable(endpoint, options),
    );
}

/** Clusters that carry their endpoints with them know the mesh's defaults; endpoints that are sent by themselves do not. */
function policyOf(scope: OutboundScope, { service, port, subset }: AssignmentTarget): EffectivePolicy {
  const defaults = service.resolution === "ClientSideLB" ? undefined : scope.mesh.defaultTrafficPolicy;
  return effectivePolicy(scope.destinationRule(service), port.port, subset, defaults);
}

/** gRPC refuses an assignment in which any address is a name. */
function callable({ traits }: OutboundScope, { resolution }: Service): Omit<LbEndpointOptions, "isMtls"> {
  return { families: traits, resolvesNames: resolution !== "ClientSideLB" && traits.generator !== "grpc" };
}

/** Envoy refuses an assignment whose weights together exceed 32 bits; weights that large say "all of it" anyway. */
function withinBounds(endpoints: readonly Endpoint[], scale: number): readonly Endpoint[] {
  const most = Math.floor(MAX_TOTAL_WEIGHT / Math.max(1, endpoints.length) / scale);
  return endpoints.map((endpoint) => (endpoint.weight > most ? { ...endpoint, weight: most } : endpoint));
}

const MAX_TOTAL_WEIGHT = 4294967295;

/** Some proxies ask for endpoints of certain networks only, and some services keep to clients of their own cluster or machine. */
function isInView(
  { network, clusterId, nodeName = "" }: Endpoint,
  { mesh, traits }: OutboundScope,
  { hostname, nodeLocal }: Service,
): boolean {
  const { networkView } = traits;
  if (nodeLocal === true && nodeName !== traits.labels[NODE_LABEL]) return false;
  if (networkView.length > 0 && network !== "" && !networkView.includes(network)) return false;
  return clusterId === traits.clusterId || !mesh.clusterLocalHosts.some((host) => hostCovers(host, hostname));
}

/**
 * Endpoints that go away are not offered, unless sessions stick to them. Unhealthy ones are shown as such, so that Envoy knows what is
 * missing; where a rule wants them to be used when too many are, they are left out.
 */
function isOffered({ health }: Endpoint, service: Service, policy: EffectivePolicy): boolean {
  if (health === "Terminating") return false;
  if (health === "Draining") return hasSessions(service);
  return health !== "UnHealthy" || panicPercent(policy, service) <= 0;
}

function arrange(
  { mesh, traits }: OutboundScope,
  groups: readonly LocalityGroup[],
  policy: EffectivePolicy,
  service: Service,
): readonly LocalityGroup[] {
  const setting = localitySetting(mesh, policy, service);
  if (setting === undefined) return groups;
  if (setting.distribute.length > 0) return distributeByWeight(groups, traits.locality, setting.distribute);
  return setting.hasPriorities ? failover(groups, traits, setting) : groups;
}

function toLocality(
  { locality: { region, zone, subzone }, endpoints, weight, priority }: LocalityGroup,
  options: LbEndpointOptions,
): LocalityLbEndpoints {
  return {
    locality: {
      ...(region !== "" && { region }),
      ...(zone !== "" && { zone }),
      ...(subzone !== "" && { subZone: subzone }),
    },
    lbEndpoints: endpoints.flatMap((endpoint) => lbEndpoint(endpoint, options) ?? []),
    loadBalancingWeight: weight,
    ...(priority > 0 && { priority }),
  };
}

/** Endpoints that can, where a rule asks for it; without a rule, where their own policy has not switched it off. */
function isMtls(scope: OutboundScope, endpoint: Endpoint, { tls }: EffectivePolicy): boolean {
  if (endpoint.tlsMode !== "istio") return false;
  return tls === undefined ? endpointMtls(scope, endpoint) !== "DISABLE" : tls.mode === "ISTIO_MUTUAL";
}
