import { deepFreeze } from "../../base/deep-freeze.ts";
import { type ConfigObject, objectKey } from "../../istio-api/config-object.ts";
import { isUnixAddress } from "../../istio-api/values/address.ts";
import { isWildcard } from "../../istio-api/values/hostname.ts";
import type { ConfigSnapshot, ConfigStore } from "../../mesh-model/config-store.ts";
import { selects } from "../../mesh-model/selector.ts";
import type { AutoAllocated, Service } from "../../mesh-model/service.ts";
import type { ServiceRegistry } from "../../mesh-model/service-registry.ts";
import { convertServiceEntry, describeEntryEndpoints } from "./convert-service-entry.ts";
import { type EndpointOrigin, toWorkload, type Workload, type WorkloadSource } from "./convert-workload.ts";
import { createRegistryState, type ServiceWithEndpoints } from "./registry-state.ts";

const SLOTS = 256 * 254;
const PRIME = 65011;

export interface ServiceEntryRegistryOptions extends EndpointOrigin {
  readonly store: ConfigStore;
  /** Workloads of platforms that entries may select, like pods. */
  readonly workloads?: readonly WorkloadSource[];
}

export interface ServiceEntryRegistry extends ServiceRegistry {
  /** Identities of endpoints name the trust domain, which the mesh settings may change. */
  setTrustDomain(trustDomain: string): void;
  /** Addresses are on other networks than before. */
  networksChanged(): void;
  /** Entries may select these as well, until what it returns is called. */
  addWorkloads(source: WorkloadSource): () => void;
  /** Ends the subscription to the store. */
  close(): void;
}

interface Converted {
  readonly entry: ConfigObject<"ServiceEntry">;
  readonly selected: readonly Workload[];
  readonly services: readonly ServiceWithEndpoints[];
}

/** Services that rule objects describe. Follows its store; an entry is converted again only when it or its workloads changed. */
export function createServiceEntryRegistry({
  store,
  workloads: given = [],
  ...origin
}: ServiceEntryRegistryOptions): ServiceEntryRegistry {
  const state = createRegistryState();
  /** With what ends the subscription to each. */
  const sources = new Map<WorkloadSource, () => void>();
  let endpointOrigin: EndpointOrigin = origin;
  let converted = new Map<string, Converted>();
  let addressed: Addressed = new Map();
  let workloads = new Map<ConfigObject<"WorkloadEntry">, Workload>();

  const workloadOf = (object: ConfigObject<"WorkloadEntry">) =>
    workloads.get(object) ?? toWorkload(object, endpointOrigin);
  const workloadsIn = (snapshot: ConfigSnapshot, namespace: string) => [
    ...snapshot.list("WorkloadEntry", namespace).map(workloadOf),
    ...[...sources.keys()].flatMap((source) => source.list(namespace)),
  ];
  /** `namespaces`: the only ones whose workloads may differ; without, all. */
  const convert = (snapshot: ConfigSnapshot, namespaces?: ReadonlySet<string>) => {
    workloads = new Map(snapshot.list("WorkloadEntry").map((object) => [object, workloadOf(object)]));
    const next = new Map<string, Converted>();
    const inNamespace = new Map<string, readonly Workload[]>();
    const candidates = (namespace: string) => {
      const found = inNamespace.get(namespace) ?? workloadsIn(snapshot, namespace);
      inNamespace.set(namespace, found);
      return found;
    };
    for (const entry of snapshot.list("ServiceEntry")) {
      const key = objectKey(entry);
      const known = converted.get(key);
      if (known?.entry === entry && namespaces !== undefined && !namespaces.has(entry.namespace)) {
        next.set(key, known);
        continue;
      }
      const selected = selectedBy(entry, candidates);
      const isSame = known?.entry === entry && isEqualList(known.selected, selected);
      next.set(
        key,
        isSame ? known : { entry, selected, services: convertServiceEntry(entry, selected, endpointOrigin) },
      );
    }
    converted = next;
    addressed = withAddresses(
      [...next.values()].flatMap(({ services }) => services),
      addressed,
    );
    state.replace([...addressed.values()]);
  };
  const selectsIn = (namespaces: ReadonlySet<string>) =>
    [...converted.values()].some(
      ({ entry }) => namespaces.has(entry.namespace) && entry.spec.workloadSelector !== undefined,
    );
  const follow = (source: WorkloadSource) => {
    const end = source.subscribe((namespaces) => {
      if (selectsIn(namespaces)) convert(store.snapshot, namespaces);
    });
    sources.set(source, end);
  };
  for (const source of given) follow(source);
  convert(store.snapshot);
  const endStore = store.subscribe(({ snapshot, changes }) => {
    if (changes.some(({ kind }) => kind === "ServiceEntry" || kind === "WorkloadEntry")) convert(snapshot);
  });
  const { services, service, endpoints, targets, subscribe } = state;
  return {
    provider: "External",
    clusterId: origin.clusterId,
    synced: true,
    services,
    service,
    endpoints,
    describeEndpoints: (key) => {
      const { source, hostname = "" } = service(key) ?? {};
      const known = source && converted.get(objectKey(source));
      return known === undefined ? [] : describeEntryEndpoints(known.entry, hostname, known.selected, endpointOrigin);
    },
    targets,
    subscribe,
    setTrustDomain: (trustDomain) => {
      if (trustDomain === endpointOrigin.trustDomain) return;
      endpointOrigin = { ...endpointOrigin, trustDomain };
      converted = new Map();
      convert(store.snapshot);
    },
    networksChanged: () => {
      converted = new Map();
      workloads = new Map();
      convert(store.snapshot);
    },
    addWorkloads: (source) => {
      follow(source);
      convert(store.snapshot);
      return () => {
        sources.get(source)?.();
        if (sources.delete(source)) convert(store.snapshot);
      };
    },
    close: () => {
      endStore();
      for (const end of sources.values()) end();
    },
  };
}

/** Workloads of the entry's own namespace that carry all labels of its selector. */
function selectedBy(
  { spec, namespace }: ConfigObject<"ServiceEntry">,
  candidates: (namespace: string) => readonly Workload[],
): readonly Workload[] {
  const selector = spec.workloadSelector?.labels;
  // What is not at an address of the network is only for who looks up names.
  const resolvesNames = spec.resolution === "DNS" || spec.resolution === "DNS_ROUND_ROBIN";
  // A selector without labels would take every workload by mistake.
  if (selector === undefined || Object.keys(selector).length === 0) return [];
  return candidates(namespace).filter(
    ({ labels, entry }) => selects(selector, labels) && (resolvesNames || !isUnixAddress(entry.address)),
  );
}

/** What was converted, and the same with its given out addresses. */
type Addressed = ReadonlyMap<ServiceWithEndpoints, ServiceWithEndpoints>;

/** An entry whose address stays is the same value as before, so that consumers compare it by identity. */
function withAddresses(entries: readonly ServiceWithEndpoints[], before: Addressed): Addressed {
  const allocated = autoAllocate(entries.map(({ service }) => service));
  return new Map(
    entries.map((entry) => {
      const { service, endpoints } = entry;
      const needsOne = service.addresses.length === 0 && service.resolution !== "Passthrough";
      const autoAllocated = needsOne ? allocated.get(`${service.namespace}/${service.hostname}`) : undefined;
      const known = before.get(entry);
      if (known !== undefined && known.service.autoAllocated?.ipv4 === autoAllocated?.ipv4) return [entry, known];
      const placed = autoAllocated === undefined ? service : { ...service, autoAllocated };
      return [entry, deepFreeze({ service: placed, endpoints })];
    }),
  );
}

function isEqualList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((element, index) => element === b[index]);
}

type Addressless = Pick<Service, "hostname" | "namespace" | "addresses" | "resolution">;

/**
 * Addresses of 240.240.0.0/16 for services that have none, by `namespace/hostname`. An agent answers DNS with them, so that proxies can
 * distinguish TCP services of one port. The slot of a service follows from its name alone unless two names meet in one slot; then the
 * earlier in the list has it.
 */
export function autoAllocate(services: Iterable<Addressless>): ReadonlyMap<string, AutoAllocated> {
  const slots = new Map<number, string>();
  const placed = new Set<string>();
  for (const service of services) {
    const key = `${service.namespace}/${service.hostname}`;
    if (!isAllocatable(service) || placed.has(key)) continue;
    if (placed.size >= SLOTS - 1) break;
    slots.set(freeSlot(fnv1a(key), slots), key);
    placed.add(key);
  }
  const result = new Map<string, AutoAllocated>();
  // Last octets of 0 are passed over; each time all later slots move by one. The last possible address is 240.240.255.254.
  let moved = 0;
  for (const [slot, key] of [...slots].sort(([a], [b]) => a - b)) {
    if ((slot + 1 + moved) % 255 === 0) moved += 1;
    const slotNumber = slot + 1 + moved;
    result.set(key, addressesOf(Math.floor(slotNumber / 255), slotNumber % 255));
  }
  return result;
}

/** Without resolution the proxy must see the address the client meant; a wildcard is many names. */
function isAllocatable({ hostname, addresses, resolution }: Addressless): boolean {
  return addresses.length === 0 && resolution !== "Passthrough" && !isWildcard(hostname);
}

function freeSlot(hash: number, slots: ReadonlyMap<number, string>): number {
  const first = hash % SLOTS;
  if (!slots.has(first)) return first;
  const step = PRIME - (hash % PRIME);
  for (let attempt = 1; attempt < SLOTS; attempt += 1) {
    // Products and sums wrap at 32 bits, as in the reference.
    const slot = ((hash + Math.imul(attempt, step)) >>> 0) % (SLOTS - 1);
    if (!slots.has(slot)) return slot;
  }
  let slot = 0;
  while (slots.has(slot)) slot += 1;
  return slot;
}

/** The last two hex digits are the last octet, so that no two slots share an address. */
function addressesOf(third: number, fourth: number): AutoAllocated {
  const low = ((third << 8) | fourth).toString(16);
  return { ipv4: `240.240.${third}.${fourth}`, ipv6: `2001:2::f0f0:${low}` };
}

/** FNV-1a with 32 bits over the text's bytes. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
