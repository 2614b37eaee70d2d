import type { Endpoint } from "../mesh-model/endpoint.ts";
import { isSameNetwork } from "../mesh-model/networks.ts";
import type { OutboundScope, ScopeTraits } from "../mesh-model/push-snapshot.ts";
import { isHeadless, type Service } from "../mesh-model/service.ts";
import { isIP } from "../net/ip.ts";
import { encodeNameTable, type NameInfo, type NameTable } from "../xds/name-table.ts";
import { serviceAddresses } from "./routes/domains.ts";

/**
 * Host names and addresses of all services that proxies of the scope see, for agents that answer DNS. Empty for gateways: their Envoy
 * resolves the names of DNS services itself, and must not be given the addresses that stand for those services in the mesh.
 */
export function generateNameTable(scope: OutboundScope): NameTable {
  // No prototype: a host may be called "constructor".
  const table: Record<string, NameInfo> = Object.create(null);
  if (scope.gateways !== undefined) return { table };
  const seen = new Set<Service>();
  for (const { services } of scope.egress) {
    for (const service of services) {
      if (seen.has(service)) continue;
      seen.add(service);
      addService(table, scope, service);
    }
  }
  return { table };
}

export { encodeNameTable };

function addService(table: Record<string, NameInfo>, scope: OutboundScope, service: Service): void {
  const addresses = serviceAddresses(service, scope.traits);
  if (addresses.length > 0) {
    addEntry(table, service.hostname, entry(service, addresses, service.name));
    return;
  }
  if (!isHeadless(service) || service.ports.length === 0) return;
  const endpoints = knownEndpoints(scope, service);
  if (endpoints.length === 0) return;
  addEntry(table, service.hostname, entry(service, [...new Set(endpoints.map(firstAddress))], service.name));
  for (const [host, { name, addresses: own }] of podNames(service, endpoints)) {
    addEntry(table, host, entry(service, [...own], name));
  }
}

/** Only Kubernetes has namespaces that short names can be completed from. */
function entry(service: Service, ips: readonly string[], shortname: string): NameInfo {
  const { provider: registry, namespace } = service;
  return registry === "Kubernetes" ? { ips, registry, shortname, namespace } : { ips, registry };
}

/** A service of Kubernetes is the authority on its name; other objects with one host add to each other. */
function addEntry(table: Record<string, NameInfo>, host: string, info: NameInfo): void {
  const known = table[host];
  if (known === undefined || (info.registry === "Kubernetes" && known.registry !== "Kubernetes")) table[host] = info;
  else if (known.registry !== "Kubernetes" || info.registry === "Kubernetes") {
    table[host] = { ...known, ips: [...new Set([...known.ips, ...info.ips])] };
  }
}

function knownEndpoints({ snapshot, traits }: OutboundScope, service: Service): readonly Endpoint[] {
  return snapshot
    .endpoints(service.key)
    .filter(
      (endpoint) =>
        isIP(firstAddress(endpoint)) !== 0 && isUsable(endpoint, service) && isReachable(endpoint, service, traits),
    );
}

function isUsable({ health }: Endpoint, { publishNotReady = false }: Service): boolean {
  return health === "Healthy" || health === "Unknown" || (publishNotReady && health !== "Terminating");
}

/** Addresses of another network, or of another cluster's pods, mean nothing here. */
function isReachable({ network, clusterId }: Endpoint, { provider }: Service, traits: ScopeTraits): boolean {
  return isSameNetwork(network, traits.network) && (provider !== "Kubernetes" || clusterId === traits.clusterId);
}

interface PodName {
  readonly name: string;
  readonly addresses: Set<string>;
}

/** `pod-0.hs.prod.svc.cluster.local` for a pod of a stateful set behind `hs.prod.svc.cluster.local`. */
function podNames(service: Service, endpoints: readonly Endpoint[]): ReadonlyMap<string, PodName> {
  const domain = service.hostname.slice(service.hostname.indexOf(".") + 1);
  const pods = new Map<string, PodName>();
  for (const endpoint of endpoints) {
    if (!endpoint.hostName || !endpoint.subDomain) continue;
    const name = `${endpoint.hostName}.${endpoint.subDomain}`;
    const pod = pods.get(`${name}.${domain}`) ?? { name, addresses: new Set() };
    pod.addresses.add(firstAddress(endpoint));
    pods.set(`${name}.${domain}`, pod);
  }
  return pods;
}

function firstAddress({ addresses }: Endpoint): string {
  return addresses[0] ?? "";
}
