import { compareServices, type Service } from "../../mesh-model/service.ts";
import type {
  ProxyAddresses,
  RegistryChange,
  RegistryListener,
  ServiceRegistry,
} from "../../mesh-model/service-registry.ts";

/** Several registries as one view. Kubernetes comes first: its services beat others of the same name. */
export interface AggregateRegistry extends Omit<ServiceRegistry, "provider" | "clusterId"> {
  /** Returns what takes the registry out again. */
  add(registry: ServiceRegistry): () => void;
}

export function createAggregateRegistry(initial: readonly ServiceRegistry[] = []): AggregateRegistry {
  let registries: readonly ServiceRegistry[] = [];
  let services: readonly Service[] | undefined;
  const listeners = new Set<RegistryListener>();
  const notify = (change: RegistryChange) => {
    services = undefined;
    for (const listener of [...listeners]) listener(change);
  };
  const add = (registry: ServiceRegistry) => {
    registries = [...registries, registry].sort((a, b) => rank(a) - rank(b));
    const end = registry.subscribe(notify);
    const keys = () => registry.services().map(({ key }) => key);
    notify({ updated: keys(), deleted: [], endpoints: [] });
    return () => {
      if (!registries.includes(registry)) return;
      end();
      registries = registries.filter((other) => other !== registry);
      notify({ updated: [], deleted: keys(), endpoints: [] });
    };
  };
  for (const registry of initial) add(registry);
  return {
    add,
    get synced() {
      return registries.every(({ synced }) => synced);
    },
    services: () => {
      services ??= Object.freeze(registries.flatMap((registry) => registry.services()).sort(compareServices));
      return services;
    },
    service: (key) => first(registries, (registry) => registry.service(key)),
    endpoints: (key) =>
      first(registries, (registry) => (registry.service(key) ? registry.endpoints(key) : undefined)) ?? [],
    targets: (proxy: ProxyAddresses) => registries.flatMap((registry) => registry.targets(proxy)),
    subscribe: (listener) => {
      const entry: RegistryListener = (change) => listener(change);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
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
