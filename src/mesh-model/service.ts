import { compareText, type ObjectRef } from "../istio-api/config-object.ts";
import type { Protocol } from "../istio-api/values/protocol.ts";

/** Where addresses of a service come from: a registry by kind. */
export type Provider = "Kubernetes" | "Consul" | "External" | "Mock";

/** How a proxy finds the endpoints of a service. */
export type Resolution = "ClientSideLB" | "DNSLB" | "Passthrough" | "DNSRoundRobinLB" | "Alias" | "DynamicDNS";

export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  /** Where clients choose the address themselves: the port that is called there instead. */
  readonly calledPort?: number;
}

/** A name with ports that clients may call. One service has all its addresses; none means that it has no virtual address. */
export interface Service {
  /** Unique over all registries; see `serviceKey`. */
  readonly key: string;
  /** Fully qualified, or a wildcard. */
  readonly hostname: string;
  /** Of the object it was made from. */
  readonly name: string;
  readonly namespace: string;
  readonly provider: Provider;
  /** Cluster of the registry it came from. */
  readonly clusterId: string;
  readonly ports: readonly ServicePort[];
  /** Virtual addresses and CIDR ranges, as the user gave them. */
  readonly addresses: readonly string[];
  /** By every other address too: it is described once without any, and once with these. */
  readonly isCalledAnywhere?: true;
  /** Where several clusters have the service: its addresses in each. Known to indexes, not to registries. */
  readonly clusterAddresses?: ReadonlyMap<string, readonly string[]>;
  /** Given out to a service without address; only for proxies whose agent answers DNS. */
  readonly autoAllocated?: AutoAllocated;
  readonly resolution: Resolution;
  readonly meshExternal: boolean;
  /** Names its certificates may carry besides those of its endpoints. */
  readonly subjectAltNames: readonly string[];
  readonly creationTime: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Empty: the mesh's default. */
  readonly exportTo: readonly string[];
  /** Labels of the workloads that serve it; undefined when endpoints are listed. */
  readonly selector?: Readonly<Record<string, string>>;
  /** The rule object it was made from, where there is one. */
  readonly source?: ObjectRef;
  readonly publishNotReady?: boolean;
  readonly externalName?: string;
  /** Hosts that are other names of this one. Known to indexes, not to registries. */
  readonly aliases?: readonly string[];
  /** Endpoints that are near are tried first. */
  readonly trafficDistribution?: "PreferSameZone" | "PreferSameNode";
  /** Clients see endpoints of their own node alone. */
  readonly nodeLocal?: boolean;
  /** Where clients outside of the platform reach it. */
  readonly externalAddresses?: readonly string[];
}

/** An object as people know it: of a rule kind, or what a registry calls it. */
export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the service was made from. */
export function objectOf(service: Service): ObjectName {
  const { source, provider } = service;
  if (source !== undefined) return { kind: source.kind, namespace: source.namespace, name: source.name };
  const kind = provider === "Kubernetes" ? "Service" : `${provider} service`;
  return { kind, namespace: service.namespace, name: service.name };
}

export interface AutoAllocated {
  readonly ipv4: string;
  readonly ipv6: string;
}

/** The order in which services win: Kubernetes first, then the oldest, then by host, then by namespace. */
export function compareServices(a: Service, b: Service): number {
  return (
    rank(a) - rank(b) ||
    a.creationTime - b.creationTime ||
    compareText(a.hostname, b.hostname) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.name, b.name)
  );
}

function rank({ provider }: Service): number {
  return provider === "Kubernetes" ? 0 : 1;
}

/** Several objects may describe one host in one namespace, so that the object's name is a part of it. */
export function serviceKey(
  service: Pick<Service, "provider" | "clusterId" | "namespace" | "name" | "hostname">,
): string {
  return [service.provider, service.clusterId, service.namespace, service.name, service.hostname].join("/");
}

/** Services that share it share their endpoints: several objects, of any registry, that describe one host in one namespace. */
export function endpointsKey({ namespace, hostname }: Pick<Service, "namespace" | "hostname">): string {
  return `${namespace}/${hostname}`;
}

/** What a host that may be an alias leads to. */
interface BehindAliases {
  readonly host: string;
  readonly service: Service | undefined;
  /** Those on the way. */
  readonly through: readonly Service[];
}

/** The service that a host stands for, through any number of aliases; undefined where they lead nowhere. */
export function behindAliases(host: string, find: (host: string) => Service | undefined): BehindAliases {
  const through = new Set<Service>();
  let current = host;
  let service = find(current);
  while (service?.resolution === "Alias" && service.externalName !== undefined && !through.has(service)) {
    through.add(service);
    current = service.externalName;
    service = find(current);
  }
  return { host: current, service: service?.resolution === "Alias" ? undefined : service, through: [...through] };
}

/** The addresses by which clients of a cluster know the service: those that their own cluster gave it, else those of the oldest. */
export function addressesIn({ addresses, clusterAddresses }: Service, clusterId: string): readonly string[] {
  return clusterAddresses?.get(clusterId) ?? addresses;
}

/** The first address, or `0.0.0.0` for a service without one. */
export function defaultAddress(service: Service): string {
  return service.addresses[0] ?? "0.0.0.0";
}

/** A service without virtual address whose clients pick an endpoint themselves. */
export function isHeadless(service: Service): boolean {
  return service.resolution === "Passthrough" && service.addresses.length === 0;
}

export function findPort(service: Service, port: number): ServicePort | undefined {
  return service.ports.find((candidate) => candidate.port === port);
}

/** Its host stands for many names, each of which the proxy looks up when it is called. */
export function isDynamic({ resolution }: Pick<Service, "resolution">): boolean {
  return resolution === "DynamicDNS";
}

/** Sessions stick to endpoints, also to those that go away. */
export function hasSessions(service: Pick<Service, "labels">): boolean {
  const { cookie, header } = sessionsOf(service);
  return cookie !== "" || header !== "";
}

/** By what a client is known again: `NAME` or `NAME:PATH` of a cookie, or the name of a header; empty where by none. */
export function sessionsOf({ labels }: Pick<Service, "labels">): { readonly cookie: string; readonly header: string } {
  return {
    cookie: labels["istio.io/persistent-session"] ?? "",
    header: labels["istio.io/persistent-session-header"] ?? "",
  };
}
