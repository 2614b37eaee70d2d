import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { Destination, SidecarEgress } from "../../istio-api/specs.ts";
import { hostCovers, hostsOverlap } from "../../istio-api/values/hostname.ts";
import { parseProtocol } from "../../istio-api/values/protocol.ts";
import type { ConfigSnapshot } from "../config-store.ts";
import { chooseByHost, type ServiceIndex } from "../indexes/service-index.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import type { EgressListener, VirtualServiceRule } from "../push-snapshot.ts";
import { selects } from "../selector.ts";
import { behindAliases, type Service } from "../service.ts";

/**
 * The oldest of the proxy's namespace that selects it, else the oldest there that selects everybody, else the oldest such of the root
 * namespace. Gateways have none.
 */
export function selectSidecar(
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  { type, namespace, labels }: Pick<ProxyNode, "type" | "namespace" | "labels">,
): ConfigObject<"Sidecar"> | undefined {
  if (type === "router") return undefined;
  const own = configs.list("Sidecar", namespace);
  return (
    own.find((sidecar) => !isForAll(sidecar) && selects(sidecar.spec.workloadSelector?.labels ?? {}, labels)) ??
    own.find(isForAll) ??
    configs.list("Sidecar", rootNamespace).find(isForAll)
  );
}

function isForAll({ spec }: ConfigObject<"Sidecar">): boolean {
  return Object.keys(spec.workloadSelector?.labels ?? {}).length === 0;
}

/** What one egress listener of a Sidecar object lets through to a proxy of the namespace. */
export function buildEgressListener(
  { port, bind, captureMode, hosts }: SidecarEgress,
  namespace: string,
  index: ServiceIndex,
  visibleRules: readonly VirtualServiceRule[],
): EgressListener {
  const entries = hosts.map((entry) => parseEgressHost(entry, namespace));
  const wanted = entries.filter(({ isExcluded }) => !isExcluded);
  const unwanted = entries.filter(({ isExcluded }) => isExcluded);
  const excludes = (owner: string, name: string) =>
    unwanted.some(({ isFrom, host }) => isFrom(owner) && hostCovers(host, name));
  const isImported = (name: string, owner: string) =>
    wanted.some(({ isFrom, host }) => isFrom(owner) && hostCovers(host, name)) && !excludes(owner, name);
  const imported = index
    .visibleTo(namespace)
    .all.filter(({ hostname, namespace: owner }) => isImported(hostname, owner));
  // A unix socket has no port (0), and a proxy is asked for any: they show services with all of theirs.
  const isAny = port === undefined || port.number === 0 || parseProtocol(port.protocol) === "HTTP_PROXY";
  const ofPort = (service: Service) => (isAny ? service : index.withPorts(service, [port.number]));
  const withPort = imported.flatMap((service) => {
    const found = ofPort(service);
    return found === undefined ? [] : [index.withAliases(found, (alias) => isImported(alias, service.namespace))];
  });
  const virtualServices = visibleRules.filter(({ object, hosts: ruled }) =>
    wanted.some(
      ({ isFrom, host }) =>
        isFrom(object.namespace) && ruled.some((name) => hostsOverlap(host, name) && !excludes(object.namespace, name)),
    ),
  );
  return Object.freeze({
    ...(port !== undefined && { port }),
    bind,
    captureMode,
    services: chooseByHost(withPort, namespace).services,
    virtualServices: Object.freeze(virtualServices),
  });
}

interface EgressHost {
  readonly isFrom: (namespace: string) => boolean;
  readonly host: string;
  readonly isExcluded: boolean;
}

/** `namespace/host`; the namespace may be `*` (any) or `.` (the proxy's own). After a `~` it is what is not wanted, alone for any. */
function parseEgressHost(entry: string, own: string): EgressHost {
  const slash = entry.indexOf("/");
  const named = slash === -1 ? "*" : entry.slice(0, slash);
  const isExcluded = named.startsWith("~");
  const where = (isExcluded ? named.slice(1) : named) || "*";
  const from = where === "." ? own : where;
  return { isFrom: (namespace) => from === "*" || from === namespace, host: entry.slice(slash + 1), isExcluded };
}

/** All services that the listeners show, with the ports they show, and those that their rules send requests to. */
export function buildScopeServices(
  listeners: readonly EgressListener[],
  namespace: string,
  index: ServiceIndex,
): readonly Service[] {
  const { all, byHost } = index.visibleTo(namespace);
  /** A host belongs to the namespace that shows it first. */
  const owners = new Map<string, string>();
  const ports = new Map<string, Set<number>>();
  const add = ({ key, hostname, namespace: owner }: Service, numbers: readonly number[]) => {
    if ((owners.get(hostname) ?? owner) !== owner) return;
    owners.set(hostname, owner);
    const known = ports.get(key);
    if (known === undefined) ports.set(key, new Set(numbers));
    else for (const number of numbers) known.add(number);
  };
  for (const { services } of listeners) for (const service of services) add(service, portNumbers(service));
  for (const { host, port } of listeners.flatMap(({ virtualServices }) => virtualServices.flatMap(destinationsOf))) {
    // Aliases are needed to find what is behind them.
    const { host: real, through } = behindAliases(host, (name) => byHost.get(name)?.[0]);
    for (const alias of through) add(alias, portNumbers(alias));
    for (const service of byHost.get(real) ?? []) {
      const numbers = portNumbers(service).filter((number) => port === undefined || number === port.number);
      if (numbers.length > 0) add(service, numbers);
    }
  }
  return Object.freeze(
    all.flatMap((service) => {
      const shown = ports.get(service.key);
      return shown === undefined ? [] : (index.withPorts(service, [...shown]) ?? []);
    }),
  );
}

function portNumbers({ ports }: Service): readonly number[] {
  return ports.map(({ port }) => port);
}

function destinationsOf({ spec }: VirtualServiceRule): readonly Destination[] {
  const weighted = [...spec.http, ...spec.tls, ...spec.tcp].flatMap(({ route }) => [...route]);
  const mirrored = spec.http.flatMap(({ mirror, mirrors }) => [
    ...(mirror === undefined ? [] : [mirror]),
    ...mirrors.flatMap(({ destination }) => destination ?? []),
  ]);
  return [...weighted.flatMap(({ destination }) => destination ?? []), ...mirrored];
}
