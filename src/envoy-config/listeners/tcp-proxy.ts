import type { Destination, RouteDestination } from "../../istio-api/specs.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { behindAliases, findPort } from "../../mesh-model/service.ts";
import { joinHostPort } from "../../net/host-port.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { Filter, FilterChain } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { TcpProxy } from "../../protobuf/gen/envoy/extensions/filters/network/tcp_proxy/v3.ts";
import { BLACK_HOLE_CLUSTER, clusterName, PASSTHROUGH_CLUSTER } from "../shared/cluster-name.ts";
import { type EffectivePolicy, effectivePolicy, findSubset } from "../shared/traffic-policy.ts";
import { isCounting } from "../telemetry/metrics.ts";

/** Sends the connection's bytes to a cluster, or to one of several by weight. */
function tcpProxyFilter(
  target: Omit<TcpProxy, "accessLog" | "statPrefix"> & { readonly statPrefix: string },
  accessLog: readonly AccessLog[] = [],
): Filter {
  return {
    name: "envoy.filters.network.tcp_proxy",
    typedConfig: pack("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", {
      ...target,
      ...(accessLog.length > 0 && { accessLog }),
      ...(accessLog.some(isCounting) && { accessLogOptions: { flushAccessLogOnConnected: true } }),
    }),
  };
}

/** Where TLS ends and connections are counted, who calls has to be known before they are written down. */
export function tcpProxyTo(
  cluster: string,
  accessLog: readonly AccessLog[] = [],
  idleTimeout = "",
  endsTls = false,
): Filter {
  const waits = endsTls && accessLog.some(isCounting);
  return tcpProxyFilter(
    {
      statPrefix: cluster,
      cluster,
      ...(idleTimeout !== "" && { idleTimeout }),
      ...(waits && AFTER_HANDSHAKE),
    },
    accessLog,
  );
}

/** Envoy wants to know how much of what the client sends at once it may keep meanwhile. */
const AFTER_HANDSHAKE = { upstreamConnectMode: "ON_DOWNSTREAM_TLS_HANDSHAKE", maxEarlyDataBytes: 65_536 } as const;

/** A connection made to the listener itself would go round for ever. */
export function blackHoleChain(name: string, destinationPort: number): FilterChain {
  return {
    name,
    filterChainMatch: { destinationPort },
    filters: [tcpProxyTo(BLACK_HOLE_CLUSTER)],
  };
}

export interface DestinationContext {
  readonly scope: OutboundScope;
  readonly listenPort: number;
  readonly accessLog: readonly AccessLog[];
}

/** One cluster of one service, with what its DestinationRule says about TCP connections. */
interface ClusterTarget {
  readonly host: string;
  readonly port: number;
  readonly subset: string;
}

export function filterTo(context: DestinationContext, target: ClusterTarget): Filter {
  const cluster = nameOf(target);
  return tcpProxyFilter({ statPrefix: cluster, cluster, ...connectionRules(context.scope, target) }, context.accessLog);
}

/** Destinations of a rule. A single one gets everything, regardless of its weight. */
export function filterToRoute(context: DestinationContext, route: readonly RouteDestination[], rule: string): Filter {
  const targets = route.map(({ destination, weight }) => ({ ...targetOf(context, destination), weight }));
  const [first, ...others] = targets;
  if (first !== undefined && others.length === 0) return filterTo(context, first);
  const clusters = targets
    .filter(({ weight }) => weight > 0)
    .map((target) => ({ name: nameOf(target), weight: target.weight }));
  // All weights are zero: Envoy refuses such a list, and the rule wants the connection to go nowhere.
  if (first === undefined || clusters.length === 0) return tcpProxyTo(BLACK_HOLE_CLUSTER, context.accessLog);
  // There is one set of connection rules for all of them: those of the first.
  const rules = connectionRules(context.scope, first);
  return tcpProxyFilter({ statPrefix: rule, weightedClusters: { clusters }, ...rules }, context.accessLog);
}

/** Without a port: the one that was called, if the destination has it, else its only one. */
function targetOf(
  { scope, listenPort }: Pick<DestinationContext, "scope" | "listenPort">,
  destination: Destination | undefined,
): ClusterTarget {
  const { subset = "", port } = destination ?? {};
  const { host } = behindAliases(destination?.host ?? "", (name) => scope.service(name));
  if (port !== undefined && port.number !== 0) return { host, subset, port: port.number };
  const service = scope.service(host, listenPort) ?? scope.service(host);
  const only = service?.ports.length === 1 ? service.ports[0] : undefined;
  const called = service === undefined ? undefined : findPort(service, listenPort);
  return { host, subset, port: (called ?? only)?.port ?? listenPort };
}

function nameOf({ host, port, subset }: ClusterTarget): string {
  return clusterName("outbound", port, subset, host);
}

function connectionRules(scope: OutboundScope, { host, port, subset }: ClusterTarget): Omit<TcpProxy, "statPrefix"> {
  const service = scope.service(host, port);
  const rule = service === undefined ? undefined : scope.destinationRule(service);
  const ownTimeout = scope.traits.listening.idleTimeout;
  if (rule === undefined) return ownTimeout === "" ? {} : { idleTimeout: ownTimeout };
  const { connectionPool, loadBalancer } = effectivePolicy(rule, port, subset);
  // Settings of a port cannot speak of a tunnel, and so do not close it.
  const tunnel = findSubset(rule, subset)?.trafficPolicy?.tunnel ?? rule.spec.trafficPolicy?.tunnel;
  const { idleTimeout = ownTimeout, maxConnectionDuration } = connectionPool?.tcp ?? {};
  return {
    ...(idleTimeout !== "" && { idleTimeout }),
    ...(maxConnectionDuration !== undefined && { maxDownstreamConnectionDuration: maxConnectionDuration }),
    ...(loadBalancer?.consistentHash?.useSourceIp === true && { hashPolicy: [{ sourceIp: {} }] }),
    ...(tunnel !== undefined && { tunnelingConfig: tunnelingConfig(tunnel) }),
  };
}

/** The connection is carried through an HTTP proxy: the destination is the proxy, and it is asked for the target. */
function tunnelingConfig({ targetHost, targetPort, protocol }: NonNullable<EffectivePolicy["tunnel"]>) {
  return {
    hostname: joinHostPort(targetHost, targetPort),
    ...(protocol.toUpperCase() === "POST" && { usePost: true }),
  };
}

/** Where connections go that no service is known for. */
function catchAllCluster(scope: OutboundScope): string {
  const { mode, egressProxy } = scope.outboundTrafficPolicy;
  if (mode === "REGISTRY_ONLY") return BLACK_HOLE_CLUSTER;
  return egressProxy === undefined ? PASSTHROUGH_CLUSTER : nameOf(targetOf({ scope, listenPort: 0 }, egressProxy));
}

export function catchAllChain(scope: OutboundScope, name: string, accessLog: readonly AccessLog[]): FilterChain {
  return { name, filters: [tcpProxyTo(catchAllCluster(scope), accessLog, scope.traits.listening.idleTimeout)] };
}
