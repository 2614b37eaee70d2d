import type { ConfigObject, ObjectRef } from "../istio-api/config-object.ts";
import type {
  DestinationRuleSpec,
  OutboundTrafficPolicy,
  SidecarIngress,
  SidecarPort,
  VirtualServiceSpec,
} from "../istio-api/specs.ts";
import type { ConfigSnapshot } from "./config-store.ts";
import type { Endpoint, ServiceTarget } from "./endpoint.ts";
import type { MeshSettings } from "./mesh-settings.ts";
import type { Networks } from "./networks.ts";
import type { ProxyNode } from "./proxy/proxy-node.ts";
import type { Service } from "./service.ts";
import type { TokenKeys } from "./token-keys.ts";

/** What the mesh is at one moment. Never changes; parts that did not change are the same values in the next one. */
export interface PushSnapshot {
  /** `2026-08-22T20:00:00Z/12`. */
  readonly version: string;
  readonly mesh: MeshSettings;
  readonly configs: ConfigSnapshot;
  /** Key sets of issuers that were fetched for RequestAuthentication objects. */
  readonly tokenKeys: TokenKeys;
  /** Gateways between networks. */
  readonly networks: Networks;
  /** In the order in which services win. */
  readonly services: readonly Service[];
  /** Every VirtualService that has hosts, for any gateway; oldest first. */
  readonly virtualServices: readonly VirtualServiceRule[];
  endpoints(serviceKey: string): readonly Endpoint[];
  /** Identities of the endpoints, sorted, each once; the same value while they stay the same. */
  serviceAccounts(serviceKey: string): readonly string[];
  /** What of the endpoints shows in clusters and listeners; the same value while it stays the same. */
  endpointShape(serviceKey: string): EndpointShape;
  /** Objects that are good by themselves and lose to others; found at first use. */
  problems(): readonly RuleProblem[];
  /** Cheap; the same value for the same node. */
  view(node: ProxyNode): ProxyView;
}

/** What of a service's endpoints shows outside of endpoint resources. Equal ones are the same value. */
export interface EndpointShape {
  /** Sorted, each once. */
  readonly accounts: readonly string[];
  /** Every endpoint speaks mutual TLS. */
  readonly allMtls: boolean;
  /** Those that clusters or listeners spell out; empty for services whose endpoints are sent by themselves. */
  readonly inlined: readonly Endpoint[];
}

/** An object that is good by itself and does not do, or not all of, what it says, because of others. */
export interface RuleProblem {
  readonly object: ObjectRef;
  readonly message: string;
  /** Where the object is a VirtualService and an older one has this host of it. */
  readonly repeatedHost?: string;
  /** Where the object is a DestinationRule and an older one for the host has this subset. */
  readonly repeatedSubset?: string;
}

/** Everything that generators may know about one proxy. */
export interface ProxyView {
  /** The workload as its registry knows it: labels and locality of its endpoint count before what the proxy says of itself. */
  readonly node: ProxyNode;
  readonly snapshot: PushSnapshot;
  readonly outbound: OutboundScope;
  readonly inbound: InboundScope;
}

/**
 * What a proxy sees of others. Proxies that are alike (namespace, labels that rules ask for, Sidecar object, address families,
 * interception, DNS, locality) share one value, so that what is generated from it can be shared as well. `client` is one of them:
 * only members named in `ScopeTraits` may be read from it.
 */
export interface OutboundScope {
  /** Equal for equal scopes of one snapshot and of later ones. */
  readonly key: string;
  /** All members but the lookups; the same value in later snapshots while they are. */
  readonly content: OutboundContent;
  /** `labels` holds only those that some rule asks for. */
  readonly traits: ScopeTraits;
  readonly snapshot: PushSnapshot;
  readonly mesh: MeshSettings;
  readonly sidecar?: ConfigObject<"Sidecar">;
  /** The one without port, if there is one, is the last. Without a Sidecar object: one that shows everything exported to the proxy. */
  readonly egress: readonly EgressListener[];
  /**
   * Those of all egress listeners and the destinations of their rules, in the order in which services win. A host is there once, unless
   * several objects of one namespace share its ports among them: host and port together are there once.
   */
  readonly services: readonly Service[];
  readonly outboundTrafficPolicy: UnknownTraffic;
  /** Of routers alone. */
  readonly gateways?: GatewayContent;
  /** With a port: the one that has it, undefined when none has. */
  service(hostname: string, port?: number): Service | undefined;
  /** The rules that apply to calls of this proxy to the service, already merged; the same value while nothing changed. */
  destinationRule(service: Service): AppliedDestinationRule | undefined;
  /** What the PeerAuthentication of the service's namespace or mesh says about it, as far as a client can know. */
  serviceMtls(service: Service): MtlsMode;
  /** What PeerAuthentication objects say about workloads of a namespace; the same value while they say the same. */
  modesIn(namespace: string): NamespaceModes;
  /** The values that answer lookups: while one is the same, so are its answers. */
  readonly answeredBy: AnsweredBy;
}

/** What becomes of calls to what no service is known for. */
export interface UnknownTraffic extends OutboundTrafficPolicy {
  /** Hosts of requests are looked up; connections without HTTP go where they were going. */
  readonly looksUpHosts?: boolean;
}

/** What lookups of a scope follow from, besides its content. */
interface AnsweredBy {
  readonly destinationRules: OutboundScope["destinationRule"];
  readonly modes: object;
  readonly endpoints: object;
  readonly shapes: object;
}

/** Mutual TLS of the workloads of one namespace. */
export interface NamespaceModes {
  /** Where no policy is for the workload itself. */
  readonly mode: MtlsMode;
  /** Those with a selector, oldest first. */
  readonly forWorkloads: readonly ConfigObject<"PeerAuthentication">[];
  ofPort(labels: Readonly<Record<string, string>>, port: number): MtlsMode;
}

/** What a scope shows. A member that shows the same as in the snapshot before is the same value, and so is a content of such members. */
export interface OutboundContent {
  readonly traits: ScopeTraits;
  readonly mesh: MeshSettings;
  readonly sidecar: ConfigObject<"Sidecar"> | undefined;
  readonly egress: readonly EgressListener[];
  readonly services: readonly Service[];
  readonly byHost: ReadonlyMap<string, readonly Service[]>;
  readonly outboundTrafficPolicy: UnknownTraffic;
  readonly gateways: GatewayContent | undefined;
}

/** Kinds whose objects of the root namespace and the own namespace reach a workload, most of them by labels. */
export type PolicyKind =
  | "EnvoyFilter"
  | "Telemetry"
  | "ProxyConfig"
  | "WasmPlugin"
  | "AuthorizationPolicy"
  | "RequestAuthentication"
  | "PeerAuthentication";

export type Policy = { [Of in PolicyKind]: ConfigObject<Of> }[PolicyKind];

export type ScopeTraits = Pick<
  ProxyNode,
  | "type"
  | "namespace"
  | "labels"
  | "dnsDomain"
  | "ipv4"
  | "ipv6"
  | "interception"
  | "generator"
  | "dnsCapture"
  | "dnsAutoAllocate"
  | "httpProxyPort"
  | "unprivileged"
  | "locality"
  | "network"
  | "clusterId"
  | "listening"
  | "networkView"
  | "preservesHeaderCase"
  | "clientTls"
> & {
  /** Keys of the conditions on proxies, made by patches, that it meets. */
  readonly meets: readonly string[];
  /** Where tracers need the name of the proxy. */
  readonly serviceCluster?: string;
  /** Of endpoints of headless services that clients call at addresses of pods. */
  readonly ownAddresses?: readonly string[];
  /** Of routers: where they listen for connections to ports of services that they are endpoints of. */
  readonly routerPorts?: readonly { readonly port: number; readonly listensOn: readonly number[] }[];
};

/** What routers listen for. */
export interface GatewayContent {
  /** Those that select the router, oldest first. */
  readonly gateways: readonly ConfigObject<"Gateway">[];
  /** Bound to one of them and visible here, in the order in which they count. */
  readonly virtualServices: readonly VirtualServiceRule[];
}

export interface EgressListener {
  readonly port?: SidecarPort;
  /** Empty: chosen by the interception mode. */
  readonly bind: string;
  readonly captureMode: "DEFAULT" | "IPTABLES" | "NONE";
  readonly services: readonly Service[];
  /** Bound to the mesh and visible here; hosts and destinations are full names, delegates are merged in. In the order in which they count. */
  readonly virtualServices: readonly VirtualServiceRule[];
}

/** A VirtualService with full host names and merged delegates. */
export interface VirtualServiceRule {
  readonly object: ConfigObject<"VirtualService">;
  readonly hosts: readonly string[];
  readonly spec: VirtualServiceSpec;
}

export interface AppliedDestinationRule {
  /** The first of the merged ones. */
  readonly object: ConfigObject<"DestinationRule">;
  /** Of all merged ones. */
  readonly objects: readonly ConfigObject<"DestinationRule">[];
  readonly spec: DestinationRuleSpec;
}

/** A port of a service at the workload, whichever of its endpoints. */
export type ServedPort = Omit<ServiceTarget, "endpoint">;

export type MtlsMode = "STRICT" | "PERMISSIVE" | "DISABLE";

/**
 * What a proxy does for its own workload. Workloads that are alike (namespace, labels that rules ask for, served ports, address families,
 * interception) share one value, whose members stay the same values in later snapshots while they say the same. Addresses and names of the
 * workload are in the node only.
 */
export interface InboundScope {
  /** Equal for workloads that serve the same ports under the same rules. */
  readonly key: string;
  /** The oldest service first, where several share a target port. */
  readonly targets: readonly ServedPort[];
  /** Of the Sidecar object; when it has some, they replace what follows from the services. */
  readonly ingress: readonly SidecarIngress[];
  readonly sidecar?: ConfigObject<"Sidecar">;
  /** For ports that no port level rule names. */
  readonly mtls: MtlsMode;
  /** Target ports that a workload's PeerAuthentication names. */
  readonly portMtls: ReadonlyMap<number, MtlsMode>;
  /** What the owner of a served service says about it, by the key of the service; rules for certain clients do not count. */
  readonly rules: ReadonlyMap<string, AppliedDestinationRule | undefined>;
}
