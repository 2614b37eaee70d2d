import { compareText } from "../../istio-api/config-object.ts";
import { groupBy, sameElements } from "../lists.ts";
import { behindAliases, compareServices, endpointsKey, type Service } from "../service.ts";
import { isPublic, isVisibleTo } from "../visibility.ts";

/** All services, and who sees which. */
export interface ServiceIndex {
  /** As the registries gave them. */
  readonly given: readonly Service[];
  readonly defaultExportTo: readonly string[];
  /** In the order in which they win. Ports of one host in one namespace are there once. */
  readonly services: readonly Service[];
  /** Whether the endpoints of some service are chosen by the machine that a client runs on. */
  readonly hasChosenByNode: boolean;
  /** Those shown to the namespace. Where several namespaces have a host: the own one, else the first in order. */
  visibleTo(namespace: string): VisibleServices;
  /** The service with some of its ports only; the same value for the same ports. */
  withPorts(service: Service, ports: readonly number[]): Service | undefined;
  /** The service with further addresses; the same value for the same ones. */
  withAddresses(service: Service, addresses: readonly string[]): Service;
  /** Services with the names that aliases give to them; the same values for the same names. */
  named(services: readonly Service[]): readonly Service[];
  /** Services of several clusters with what each cluster says of them; the same values for the same clusters. */
  joined(services: readonly Service[]): readonly Service[];
  /** The service with those of its aliases alone that pass the test; the same value for the same ones. */
  withAliases(service: Service, isShown: (alias: string) => boolean): Service;
}

export interface VisibleServices {
  /** Every visible one, also those whose host another namespace wins. First those that not everybody sees, then by age. */
  readonly all: readonly Service[];
  /** The winners. */
  readonly services: readonly Service[];
  /** Winners by host: several when several objects share the ports of a host among them. */
  readonly byHost: ReadonlyMap<string, readonly Service[]>;
}

/** The previous index is returned when it would be built from the same services. */
export function buildServiceIndex(
  given: readonly Service[],
  defaultExportTo: readonly string[],
  previous?: ServiceIndex,
): ServiceIndex {
  const isSame = previous !== undefined && sameElements(previous.defaultExportTo, defaultExportTo);
  if (isSame && sameElements(previous.given, given)) return previous;
  // Cut-down services stay the same values for as long as the whole ones do.
  const withPorts = previous?.withPorts ?? createPortSelection();
  const named = previous?.named ?? createNaming();
  const withAliases = previous?.withAliases ?? createAliasSelection();
  const joined = previous?.joined ?? createClusterJoin();
  const withAddresses = previous?.withAddresses ?? createAddressJoin();
  const whole = named(joined([...given].sort(compareServices)));
  const onePerPort = (some: readonly Service[]) => withoutRepeatedPorts(some, { withPorts, withAddresses });
  const visible = new Map<string, VisibleServices>();
  return {
    given,
    defaultExportTo,
    services: onePerPort(whole),
    hasChosenByNode: given.some(isChosenByNode),
    withPorts,
    withAddresses,
    named,
    joined,
    withAliases,
    visibleTo: (namespace) => {
      let found = visible.get(namespace);
      if (found === undefined) {
        found = selectVisible(whole, namespace, { defaultExportTo, onePerPort });
        visible.set(namespace, found);
      }
      return found;
    },
  };
}

function isChosenByNode({ nodeLocal, trafficDistribution }: Service): boolean {
  return nodeLocal === true || trafficDistribution === "PreferSameNode";
}

/**
 * Services of Kubernetes with one host in one namespace are one service in all clusters: each cluster's clients call it by the addresses that
 * their cluster gave it, and any of its names will do in certificates. The rest is that of the oldest.
 */
function createClusterJoin(): ServiceIndex["joined"] {
  const made = new WeakMap<Service, { readonly group: readonly Service[]; readonly service: Service }>();
  const join = (service: Service, group: readonly Service[]) => {
    const known = made.get(service);
    if (known !== undefined && sameElements(known.group, group)) return known.service;
    const joined = Object.freeze({
      ...service,
      clusterAddresses: new Map(group.map(({ clusterId, addresses }) => [clusterId, addresses])),
      subjectAltNames: Object.freeze([...new Set(group.flatMap(({ subjectAltNames }) => subjectAltNames))]),
    });
    made.set(service, { group, service: joined });
    return joined;
  };
  return (services) => {
    const kubernetes = services.filter(({ provider }) => provider === "Kubernetes");
    if (kubernetes.every(({ clusterId }) => clusterId === kubernetes[0]?.clusterId)) return services;
    const groups = groupBy(kubernetes, endpointsKey);
    return services.map((service) => {
      const group = service.provider === "Kubernetes" ? (groups.get(endpointsKey(service)) ?? []) : [];
      return group.length < 2 ? service : join(service, group);
    });
  };
}

/**
 * Of two objects that describe one host in one namespace, the older one has its ports; the other keeps what is left. What is called by the
 * addresses of an object without any port left is the older one as well.
 */
function withoutRepeatedPorts(
  sorted: readonly Service[],
  { withPorts, withAddresses }: Pick<ServiceIndex, "withPorts" | "withAddresses">,
): readonly Service[] {
  const taken = new Map<string, Set<number>>();
  /** Of objects without ports of their own, by host. */
  const more = new Map<string, string[]>();
  const services: Service[] = [];
  for (const service of sorted) {
    const host = endpointsKey(service);
    const numbers = service.ports.map(({ port }) => port);
    const before = taken.get(host);
    if (before === undefined) {
      taken.set(host, new Set(numbers));
      services.push(service);
      continue;
    }
    const rest = withPorts(
      service,
      numbers.filter((port) => !before.has(port)),
    );
    if (rest !== undefined) services.push(rest);
    else if (service.provider === "External") more.set(host, [...(more.get(host) ?? []), ...service.addresses]);
    for (const port of numbers) before.add(port);
  }
  if (more.size === 0) return Object.freeze(services);
  const addressed = new Set<string>();
  return Object.freeze(
    services.map((service) => {
      const host = endpointsKey(service);
      const addresses = more.get(host);
      if (addresses === undefined || service.provider !== "External" || addressed.has(host)) return service;
      addressed.add(host);
      return withAddresses(service, addresses);
    }),
  );
}

interface VisibleOptions {
  readonly defaultExportTo: readonly string[];
  readonly onePerPort: (services: readonly Service[]) => readonly Service[];
}

/** Which object has a port is decided among those that are shown: one that is hidden takes nothing away. */
function selectVisible(
  whole: readonly Service[],
  namespace: string,
  { defaultExportTo, onePerPort }: VisibleOptions,
): VisibleServices {
  const visible = onePerPort(
    whole.filter((service) => isVisibleTo(service.exportTo, service.namespace, namespace, defaultExportTo)),
  );
  // What is shown to few was meant for them, and wins over what everybody sees.
  const isForAll = ({ exportTo }: Service) => isPublic(exportTo, defaultExportTo);
  const all = [...visible.filter((service) => !isForAll(service)), ...visible.filter(isForAll)];
  return { all, ...chooseByHost(all, namespace) };
}

/** One namespace per host: the own one, else that of the first service in order. */
export function chooseByHost(
  services: readonly Service[],
  namespace: string,
): Pick<VisibleServices, "services" | "byHost"> {
  const owner = new Map<string, string>();
  for (const service of services) {
    if (service.namespace === namespace || !owner.has(service.hostname)) owner.set(service.hostname, service.namespace);
  }
  const chosen = services.filter((service) => owner.get(service.hostname) === service.namespace);
  return { services: Object.freeze(chosen), byHost: groupBy(chosen, ({ hostname }) => hostname) };
}

/** Aliases without a service behind them, and those that lead in a circle, name nothing. */
function createNaming(): ServiceIndex["named"] {
  const made = new WeakMap<Service, Service>();
  return (services) => {
    const aliases = services.filter(({ resolution }) => resolution === "Alias");
    if (aliases.length === 0) return services;
    const byHost = new Map(services.toReversed().map((service) => [service.hostname, service]));
    const names = new Map<string, string[]>();
    for (const { hostname } of aliases) {
      const { service } = behindAliases(hostname, (host) => byHost.get(host));
      if (service === undefined) continue;
      const known = names.get(service.hostname);
      if (known === undefined) names.set(service.hostname, [hostname]);
      else known.push(hostname);
    }
    const withNames = (service: Service) => {
      const own = names.get(service.hostname)?.sort(compareText);
      if (own === undefined || service.resolution === "Alias") return service;
      const known = made.get(service);
      if (known?.aliases !== undefined && sameElements(known.aliases, own)) return known;
      const named = Object.freeze({ ...service, aliases: Object.freeze([...own]) });
      made.set(service, named);
      return named;
    };
    return Object.freeze(services.map(withNames));
  };
}

function createAliasSelection(): ServiceIndex["withAliases"] {
  const made = new WeakMap<Service, Map<string, Service>>();
  return (service, isShown) => {
    const shown = service.aliases?.filter(isShown) ?? [];
    if (shown.length === (service.aliases?.length ?? 0)) return service;
    const selections = made.get(service) ?? new Map<string, Service>();
    made.set(service, selections);
    const key = shown.join();
    const selection = selections.get(key) ?? Object.freeze({ ...service, aliases: Object.freeze(shown) });
    selections.set(key, selection);
    return selection;
  };
}

function createAddressJoin(): ServiceIndex["withAddresses"] {
  const made = new WeakMap<Service, Map<string, Service>>();
  return (service, further) => {
    const addresses = [...new Set([...service.addresses, ...further])];
    if (addresses.length === service.addresses.length) return service;
    const known = made.get(service) ?? new Map<string, Service>();
    made.set(service, known);
    const key = addresses.join();
    const isCalledAnywhere = service.addresses.length === 0 && ({ isCalledAnywhere: true } as const);
    const joined =
      known.get(key) ?? Object.freeze({ ...service, addresses: Object.freeze(addresses), ...isCalledAnywhere });
    known.set(key, joined);
    return joined;
  };
}

function createPortSelection(): ServiceIndex["withPorts"] {
  const made = new WeakMap<Service, Map<string, Service>>();
  return (service, wanted) => {
    const ports = service.ports.filter(({ port }) => wanted.includes(port));
    if (ports.length === service.ports.length) return service;
    if (ports.length === 0) return undefined;
    let selections = made.get(service);
    if (selections === undefined) {
      selections = new Map();
      made.set(service, selections);
    }
    const key = ports.map(({ port }) => port).join();
    let selection = selections.get(key);
    if (selection === undefined) {
      selection = Object.freeze({ ...service, ports: Object.freeze(ports) });
      selections.set(key, selection);
    }
    return selection;
  };
}
