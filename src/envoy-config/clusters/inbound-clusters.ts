import type { ConnectionPool, SidecarIngress } from "../../istio-api/specs.ts";
import { isUnixAddress } from "../../istio-api/values/address.ts";
import { type Protocol, parseProtocol } from "../../istio-api/values/protocol.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { BindConfig } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { toAddress } from "../endpoints/lb-endpoint.ts";
import type { Attempt } from "../shared/attempt.ts";
import { clusterName, statNamed } from "../shared/cluster-name.ts";
import { headerCase } from "../shared/header-case.ts";
import { type EffectivePolicy, effectivePolicy } from "../shared/traffic-policy.ts";
import { circuitBreakers, upstreamConnection } from "./connection-pool.ts";
import { httpOptions, upstreamProtocol } from "./upstream-http.ts";

/**
 * One cluster per port that the workload serves: those of its Sidecar object, else those of its services. One that cannot be made costs the
 * others nothing.
 */
export function inboundClusters(view: ProxyView, attempt: Attempt): readonly Cluster[] {
  const { inbound, node } = view;
  if (inbound.ingress.length > 0) {
    const { sidecar } = inbound;
    const nameOf = ({ port }: SidecarIngress) => clusterName("inbound", port?.number ?? 0);
    return inbound.ingress.flatMap(
      (ingress) => attempt(nameOf(ingress), () => ingressCluster(view, ingress), sidecar) ?? [],
    );
  }
  // Without redirection there is no original address to call.
  return node.interception === "NONE" ? [] : targetClusters(view, attempt);
}

/** Calls to the own application come from an address of their own, which distinguishes them from what it sends itself. */
export function inboundBind({ ipv4, ipv6 }: Pick<ProxyNode, "ipv4" | "ipv6">): BindConfig {
  if (!ipv4) return { sourceAddress: { address: "::6", portValue: 0 } };
  const sourceAddress = { address: "127.0.0.6", portValue: 0 };
  return ipv6
    ? { sourceAddress, extraSourceAddresses: [{ address: { address: "::6", portValue: 0 } }] }
    : { sourceAddress };
}

function targetClusters(view: ProxyView, attempt: Attempt): readonly Cluster[] {
  const clusters = new Map<number, Cluster | undefined>();
  for (const target of view.inbound.targets) {
    const { service, targetPort } = target;
    // The oldest service comes first and decides.
    if (clusters.has(targetPort) || targetPort === 0) continue;
    const name = clusterName("inbound", targetPort);
    clusters.set(
      targetPort,
      attempt(name, () => targetCluster(view, name, target), service),
    );
  }
  return [...clusters.values()].filter((cluster) => cluster !== undefined);
}

function targetCluster(
  view: ProxyView,
  name: string,
  { service, port, targetPort }: ProxyView["inbound"]["targets"][number],
): Cluster {
  const { inbound, node, snapshot } = view;
  const rule = effectivePolicy(inbound.rules.get(service.key), port.port, "", snapshot.mesh.defaultTrafficPolicy);
  const pool = inbound.sidecar?.spec.inboundConnectionPool ?? rule.connectionPool;
  const cluster = withPool(view, { name, protocol: port.protocol, pool, retryBudget: rule.retryBudget });
  if (snapshot.mesh.inboundTrafficPolicy === "LOCALHOST") {
    return { ...cluster, ...staticTo(name, node.ipv4 ? "127.0.0.1" : "::1", targetPort) };
  }
  const { calledPort } = port;
  return {
    ...cluster,
    ...originalAddress(node),
    ...(calledPort !== undefined && { originalDstLbConfig: { upstreamPortOverride: calledPort } }),
  };
}

/** The set of addresses is small and known: looking for unused ones is wasted work. */
const LONGEST = "9223372035s";

function originalAddress(node: ProxyNode): Partial<Cluster> {
  return {
    type: "ORIGINAL_DST",
    lbPolicy: "CLUSTER_PROVIDED",
    cleanupInterval: LONGEST,
    upstreamBindConfig: inboundBind(node),
  };
}

/** Undefined for an ingress listener that leads to no endpoint. */
function ingressCluster(view: ProxyView, ingress: SidecarIngress): Cluster | undefined {
  const { inbound, node, snapshot } = view;
  const port = ingress.port?.number ?? 0;
  const name = clusterName("inbound", port);
  const endpoint = ingressEndpoint(node, name, ingress);
  if (port === 0 || endpoint === undefined) return undefined;
  // The service that is called at this port, if there is one: its rule counts as if there was no Sidecar.
  const served = inbound.targets.find(({ targetPort }) => targetPort === port);
  const rule = served && inbound.rules.get(served.service.key);
  const policy = effectivePolicy(rule, port, "", snapshot.mesh.defaultTrafficPolicy);
  const pool = ingress.connectionPool ?? inbound.sidecar?.spec.inboundConnectionPool ?? policy.connectionPool;
  const protocol = parseProtocol(ingress.port?.protocol ?? "");
  return { ...withPool(view, { name, protocol, pool, retryBudget: policy.retryBudget }), ...endpoint };
}

function ingressEndpoint(
  node: ProxyNode,
  name: string,
  { defaultEndpoint, captureMode }: SidecarIngress,
): Partial<Cluster> | undefined {
  if (defaultEndpoint === "") {
    // What was called is then the proxy itself.
    const isBound = node.interception === "NONE" || captureMode === "NONE";
    return isBound ? undefined : originalAddress(node);
  }
  const target = localEndpoint(defaultEndpoint, node);
  if (target === undefined) return undefined;
  const { address, port, isLoopback } = target;
  return { ...staticTo(name, address, port), ...(!isLoopback && { upstreamBindConfig: inboundBind(node) }) };
}

interface InboundSettings {
  readonly name: string;
  readonly protocol: Protocol;
  readonly pool: ConnectionPool | undefined;
  readonly retryBudget?: EffectivePolicy["retryBudget"] | undefined;
}

/** Of a rule, only pool and retry budget mean something to the server's own side. */
function withPool({ snapshot, node }: ProxyView, { name, protocol, pool, retryBudget }: InboundSettings): Cluster {
  const preservesCase = node.preservesHeaderCase ?? snapshot.mesh.preservesHeaderCase;
  return {
    ...statNamed(name),
    ...upstreamConnection(snapshot.mesh, pool),
    circuitBreakers: circuitBreakers(pool, retryBudget),
    ...httpOptions(upstreamProtocol(protocol, { pool: withoutUpgrade(pool) }), pool, {
      http1: headerCase(protocol, preservesCase),
    }),
  };
}

/** How clients may call says nothing of what the application speaks. */
function withoutUpgrade(pool: ConnectionPool | undefined): ConnectionPool | undefined {
  return pool?.http === undefined ? pool : { ...pool, http: { ...pool.http, h2UpgradePolicy: "DEFAULT" } };
}

function staticTo(name: string | undefined, address: string, port: number): Cluster {
  return {
    type: "STATIC",
    loadAssignment: {
      clusterName: name,
      endpoints: [{ lbEndpoints: [{ endpoint: { address: toAddress(address, port) } }] }],
    },
  };
}

interface LocalEndpoint {
  /** An address, or `unix://` and a path. */
  readonly address: string;
  readonly port: number;
  readonly isLoopback: boolean;
}

/**
 * Where a Sidecar's ingress listener leads: `127.0.0.1:80`, `[::1]:80`, `unix:///run/app.sock`, or the wildcard address, which means
 * the workload's own one. Undefined for anything else; validation has reported it.
 */
export function localEndpoint(
  text: string,
  node: Pick<ProxyNode, "addresses" | "ipv4" | "ipv6">,
): LocalEndpoint | undefined {
  if (isUnixAddress(text)) return { address: text, port: 0, isLoopback: false };
  const [, host = "", digits = ""] = /^(.+):(\d+)$/.exec(text) ?? [];
  const address = host.replace(/^\[(.*)\]$/, "$1");
  const port = Number(digits);
  if (port < 1 || port > 65535) return undefined;
  if (address === "127.0.0.1" || address === "::1") {
    // Of the other family, where the workload has but that one.
    const isIpv4 = node.ipv4 && (address === "127.0.0.1" || !node.ipv6);
    return { address: isIpv4 ? "127.0.0.1" : "::1", port, isLoopback: true };
  }
  if (address !== "0.0.0.0" && address !== "::") return undefined;
  const own = node.addresses.find((candidate) => candidate.includes(":") === (address === "::")) ?? node.addresses[0];
  return own === undefined ? undefined : { address: own, port, isLoopback: false };
}
