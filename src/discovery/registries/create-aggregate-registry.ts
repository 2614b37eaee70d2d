import type { NetworkGateway } from "../../mesh-model/networks.ts";
import { compareServices, endpointsKey, type Service } from "../../mesh-model/service.ts";
import type {
  ProxyAddresses,
  RegistryChange,
  RegistryListener,
  ServiceRegistry,
} from "../../mesh-model/service-registry.ts";

/** Several registries as one view. Kubernetes comes first: its services beat others of the same name. */
export interface AggregateRegistry
  extends Omit<ServiceRegistry, "provider" | "clusterId" | "describeEndpoints" | "objectVersions">,
    Required<Pick<ServiceRegistry, "describeEndpoints" | "objectVersions">> {
  /** Returns what takes the registry out again. */
  add(registry: ServiceRegistry): () => void;
  gateways(): readonly NetworkGateway[];
}

export function createAggregateRegistry(initial: readonly ServiceRegistry[] = []): AggregateRegistry {
  let registries: readonly ServiceRegistry[] = [];
  let services: readonly Service[] | undefined;
  const listeners = new Set<RegistryListener>();
  const all = () => {
    services ??= Object.freeze(registries.flatMap((registry) => registry.services()).sort(compareServices));
    return services;
  };
  const notify = (change: RegistryChange) => {
    const before = services ?? [];
    if (change.updated.length + change.deleted.length > 0) services = undefined;
    const complete = registries.length < 2 ? change : withTwins(change, before, all());
    for (const listener of [...listeners]) listener(complete);
  };
  const add = (registry: ServiceRegistry) => {
    registries = [...registries, registry].sort((a, b) => rank(a) - rank(b));
    const end = registry.subscribe(notify);
    const keys = () => registry.services().map(({ key }) => key);
    notify({ updated: keys(), deleted: [], endpoints: [], ...gatewaysOf(registry) });
    return () => {
      if (!registries.includes(registry)) return;
      end();
      registries = registries.filter((other) => other !== registry);
      notify({ updated: [], deleted: keys(), endpoints: [], ...gatewaysOf(registry) });
    };
  };
  for (const registry of initial) add(registry);
  return {
    add,
    get synced() {
      return registries.every(({ synced }) => synced);
    },
    services: all,
    service: (key) => first(registries, (registry) => registry.service(key)),
    endpoints: (key) =>
      first(registries, (registry) => (registry.service(key) ? registry.endpoints(key) : undefined)) ?? [],
    describeEndpoints: (key) =>
      first(registries, (registry) => (registry.service(key) ? registry.describeEndpoints?.(key) : undefined)) ?? [],
    objectVersions: (object) => registries.flatMap((registry) => registry.objectVersions?.(object) ?? []),
    targets: (proxy: ProxyAddresses) => registries.flatMap((registry) => registry.targets(proxy)),
    workload: (proxy) => first(registries, (registry) => registry.workload?.(proxy)),
    gateways: () => registries.flatMap((registry) => registry.gateways?.() ?? []),
    subscribe: (listener) => {
      const entry: RegistryListener = (change) => listener(change);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}

/** For a change by a registry that comes or goes as a whole. */
function gatewaysOf(registry: ServiceRegistry): Pick<RegistryChange, "gateways"> {
  return (registry.gateways?.() ?? []).length > 0 ? { gateways: true } : {};
}

/** Services of other registries that share their endpoints with one that changed have other endpoints as well. */
function withTwins(change: RegistryChange, before: readonly Service[], after: readonly Service[]): RegistryChange {
  const touched = new Set([...change.updated, ...change.deleted, ...change.endpoints]);
  const hosts = new Set<string>();
  for (const services of new Set([before, after])) {
    const { hostOf } = hostsOf(services);
    for (const key of touched) {
      const host = hostOf.get(key);
      if (host !== undefined) hosts.add(host);
    }
  }
  const { keysOf } = hostsOf(after);
  const twins = [...hosts].flatMap((host) => (keysOf.get(host) ?? []).filter((key) => !touched.has(key)));
  return twins.length === 0 ? change : { ...change, endpoints: [...change.endpoints, ...twins] };
}

interface Hosts {
  /** By the service's key. */
  readonly hostOf: ReadonlyMap<string, string>;
  readonly keysOf: ReadonlyMap<string, readonly string[]>;
}

/** Beside the lists, which stay the same values while only endpoints change: most of the time. */
const HOSTS = new WeakMap<readonly Service[], Hosts>();

function hostsOf(services: readonly Service[]): Hosts {
  let hosts = HOSTS.get(services);
  if (hosts === undefined) {
    const hostOf = new Map(services.map((service) => [service.key, endpointsKey(service)]));
    const keysOf = new Map<string, string[]>();
    for (const [key, host] of hostOf) {
      const keys = keysOf.get(host);
      if (keys === undefined) keysOf.set(host, [key]);
      else keys.push(key);
    }
    hosts = { hostOf, keysOf };
    HOSTS.set(services, hosts);
  }
  return hosts;
}

function rank({ provider }: Pick<Service, "provider">): number {
  return provider === "Kubernetes" ? 0 : 1;
}

function first<Found>(
  registries: readonly ServiceRegistry[],
  find: (registry: ServiceRegistry) => Found | undefined,
): Found | undefined {
  for (const registry of registries) {
    const found = find(registry);
    if (found !== undefined) return found;
  }
  return undefined;
}
