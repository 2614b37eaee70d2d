import { isDeepStrictEqual } from "node:util";
import type { Endpoint, ServiceTarget } from "../../mesh-model/endpoint.ts";
import { sameElements } from "../../mesh-model/lists.ts";
import { compareServices, endpointsKey, type Service } from "../../mesh-model/service.ts";
import type { ProxyAddresses, RegistryChange, RegistryListener } from "../../mesh-model/service-registry.ts";

/** A service with its endpoints, as an adapter builds it. */
export interface ServiceWithEndpoints {
  readonly service: Service;
  readonly endpoints: readonly Endpoint[];
}

/** The part that every adapter shares: present services, lookup by address, and finding out what a new state changes. */
export interface RegistryState {
  services(): readonly Service[];
  service(key: string): Service | undefined;
  endpoints(serviceKey: string): readonly Endpoint[];
  targets(proxy: ProxyAddresses): readonly ServiceTarget[];
  subscribe(listener: RegistryListener): () => void;
  /** Takes over a new state; listeners hear of it when something differs. */
  replace(entries: readonly ServiceWithEndpoints[]): RegistryChange;
  /**
   * Takes over some services, others stay; undefined takes a service away. Endpoints that are equal must be the same values: only the lists
   * are compared. Listeners hear of it when something differs, or something besides services does.
   */
  update(
    changes: ReadonlyMap<string, ServiceWithEndpoints | undefined>,
    besides?: Pick<RegistryChange, "workloads" | "gateways">,
  ): void;
}

export function createRegistryState(): RegistryState {
  let entries = new Map<string, ServiceWithEndpoints>();
  let sorted: readonly Service[] | undefined;
  const services = () => {
    sorted ??= Object.freeze([...entries.values()].map(({ service }) => service).sort(compareServices));
    return sorted;
  };
  /** Built when first asked for: most changes come in bursts without a read in between. */
  let byAddress: ReadonlyMap<string, readonly ServiceTarget[]> | undefined;
  const listeners = new Set<RegistryListener>();
  return {
    services,
    service: (key) => entries.get(key)?.service,
    endpoints: (key) => entries.get(key)?.endpoints ?? [],
    targets: ({ addresses, namespace }) => {
      byAddress ??= indexByAddress(services(), entries);
      const index = byAddress;
      const found = new Set(addresses.flatMap((address) => index.get(address) ?? []));
      return [...found].filter(({ endpoint }) => endpoint.namespace === namespace);
    },
    subscribe: (listener) => {
      const entry: RegistryListener = (change) => listener(change);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    replace: (wanted) => {
      const { next, change } = reconcile(entries, wanted);
      if (change.updated.length + change.deleted.length + change.endpoints.length === 0) return change;
      entries = next;
      byAddress = undefined;
      if (change.updated.length + change.deleted.length > 0) sorted = undefined;
      for (const listener of [...listeners]) listener(change);
      return change;
    },
    update: (wanted, besides = {}) => {
      const change = { ...merge(entries, wanted), ...besides };
      if (change.updated.length + change.deleted.length > 0) sorted = undefined;
      const isNothing = change.updated.length + change.deleted.length + change.endpoints.length === 0;
      if (isNothing && Object.keys(besides).length === 0) return;
      byAddress = undefined;
      for (const listener of [...listeners]) listener(change);
    },
  };
}

/** Writes what differs into the entries. */
function merge(
  entries: Map<string, ServiceWithEndpoints>,
  wanted: ReadonlyMap<string, ServiceWithEndpoints | undefined>,
): RegistryChange {
  const updated: string[] = [];
  const deleted: string[] = [];
  const changedEndpoints: string[] = [];
  for (const [key, entry] of wanted) {
    const known = entries.get(key);
    if (entry === undefined) {
      if (entries.delete(key)) deleted.push(key);
      continue;
    }
    const service = known !== undefined && same(known.service, entry.service) ? known.service : entry.service;
    const isSameList = known !== undefined && sameElements(known.endpoints, entry.endpoints);
    if (service !== known?.service) updated.push(key);
    else if (!isSameList) changedEndpoints.push(key);
    else continue;
    entries.set(key, { service, endpoints: isSameList ? known.endpoints : entry.endpoints });
  }
  return { updated, deleted, endpoints: changedEndpoints };
}

/** Equal services and endpoint lists stay the values they were. */
function reconcile(before: ReadonlyMap<string, ServiceWithEndpoints>, wanted: readonly ServiceWithEndpoints[]) {
  const next = new Map<string, ServiceWithEndpoints>();
  const updated: string[] = [];
  const changedEndpoints: string[] = [];
  for (const entry of wanted) {
    const { key } = entry.service;
    const known = before.get(key);
    const service = known !== undefined && same(known.service, entry.service) ? known.service : entry.service;
    const endpoints = known !== undefined && same(known.endpoints, entry.endpoints) ? known.endpoints : entry.endpoints;
    if (service !== known?.service) updated.push(key);
    else if (endpoints !== known.endpoints) changedEndpoints.push(key);
    next.set(key, { service, endpoints });
  }
  const deleted = [...before.keys()].filter((key) => !next.has(key));
  const touched = [...updated, ...deleted, ...changedEndpoints];
  changedEndpoints.push(...twinsOf(touched, before, next));
  return { next, change: { updated, deleted, endpoints: changedEndpoints } };
}

/** Services that share their endpoints with one that changed, and did not change themselves. */
function twinsOf(
  touched: readonly string[],
  before: ReadonlyMap<string, ServiceWithEndpoints>,
  next: ReadonlyMap<string, ServiceWithEndpoints>,
): readonly string[] {
  const isLeft = touched.filter((key) => next.has(key)).length < next.size;
  if (touched.length === 0 || !isLeft) return [];
  const keys = new Set(
    touched.flatMap((key) => {
      const service = (next.get(key) ?? before.get(key))?.service;
      return service === undefined ? [] : [endpointsKey(service)];
    }),
  );
  const known = new Set(touched);
  return [...next.values()]
    .filter(({ service }) => !known.has(service.key) && keys.has(endpointsKey(service)))
    .map(({ service }) => service.key);
}

function same(a: unknown, b: unknown): boolean {
  return a === b || isDeepStrictEqual(a, b);
}

function indexByAddress(services: readonly Service[], entries: ReadonlyMap<string, ServiceWithEndpoints>) {
  const index = new Map<string, ServiceTarget[]>();
  for (const service of services) {
    for (const endpoint of entries.get(service.key)?.endpoints ?? []) {
      const port = service.ports.find(({ name }) => name === endpoint.servicePortName);
      if (port === undefined) continue;
      const target = { service, port, targetPort: endpoint.port, endpoint };
      for (const address of new Set(endpoint.addresses)) {
        const targets = index.get(address);
        if (targets === undefined) index.set(address, [target]);
        else targets.push(target);
      }
    }
  }
  return index;
}
