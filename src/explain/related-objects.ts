import { type AnyConfigObject, type ConfigObject, compareAge } from "../istio-api/config-object.ts";
import { hostCovers, isWildcard, resolveShortHost } from "../istio-api/values/hostname.ts";
import { groupBy } from "../mesh-model/lists.ts";
import type { ProxyView, VirtualServiceRule } from "../mesh-model/push-snapshot.ts";
import { selects } from "../mesh-model/selector.ts";
import type { Service } from "../mesh-model/service.ts";
import { type RuleKind, WORKLOAD_RULES } from "./effects-on.ts";

/** The part of a mesh in which something about certain hosts is likely to be the same as in all of it. */
export interface Related {
  /** Of services. */
  readonly hosts: ReadonlySet<string>;
  /** Of every kind of `RULES`, in the order in which they count. */
  readonly objects: ReadonlyMap<RuleKind, readonly AnyConfigObject[]>;
}

/**
 * What may have to do with hosts in the view of a proxy: rules for them, the services that these lead to, the rules for those, and what selects
 * the workload. A guess: whoever uses it looks whether the rest of the mesh makes a difference.
 */
export function createRelatedObjects(view: ProxyView): (hosts: readonly string[]) => Related {
  const { snapshot, node, outbound, inbound } = view;
  const { configs, mesh } = snapshot;
  const rulesFor = createRuleLookup(view);
  const services = groupBy(snapshot.services, ({ hostname }) => hostname);
  const aliases = groupBy(
    snapshot.services.filter(({ externalName }) => externalName !== undefined),
    ({ externalName = "" }) => externalName,
  );
  const destinationRules = createHostIndex(configs.list("DestinationRule"), ({ spec, namespace }) => [
    resolveShortHost(spec.host, namespace, mesh.domainSuffix),
  ]);
  const reaching = configs
    .all()
    .filter(({ namespace }) => namespace === mesh.rootNamespace || namespace === node.namespace)
    .filter((object) => selects(selectorOf(object), node.labels));
  const workload = groupBy(reaching, ({ kind }) => kind);
  const served = inbound.targets.map(({ service }) => service.hostname);
  return (wanted) => {
    const rules = [...new Set(wanted.flatMap((host) => rulesFor(host)))];
    const virtualServices = rules.flatMap(({ object }) => [object, ...delegatesOf(object, view)]);
    const hosts = new Set([...wanted, ...rules.flatMap(({ spec }) => namedHosts(spec)), ...served]);
    for (const host of hosts) {
      for (const { hostname } of aliases.get(host) ?? []) hosts.add(hostname);
      for (const { externalName } of services.get(host) ?? []) if (externalName !== undefined) hosts.add(externalName);
    }
    const shown = [...hosts].flatMap((host) => services.get(host) ?? []);
    const objects = new Map<RuleKind, readonly AnyConfigObject[]>();
    for (const kind of WORKLOAD_RULES) objects.set(kind, (workload.get(kind) ?? []).toSorted(compareAge));
    const set = (kind: RuleKind, all: readonly AnyConfigObject[]) =>
      objects.set(kind, [...new Set([...(objects.get(kind) ?? []), ...all])].toSorted(compareAge));
    set("VirtualService", virtualServices);
    set("DestinationRule", [...hosts].flatMap(destinationRules));
    set("Gateway", outbound.gateways?.gateways ?? []);
    set("PeerAuthentication", modesOf(shown, view));
    return { hosts, objects };
  };
}

function selectorOf(object: AnyConfigObject): Readonly<Record<string, string>> {
  switch (object.kind) {
    case "Sidecar":
    case "EnvoyFilter":
      return object.spec.workloadSelector?.labels ?? {};
    case "AuthorizationPolicy":
    case "RequestAuthentication":
    case "PeerAuthentication":
    case "Telemetry":
    case "WasmPlugin":
      return object.spec.selector?.matchLabels ?? {};
    default:
      return {};
  }
}

/** Clients look at what servers demand. */
function modesOf(services: readonly Service[], { snapshot }: ProxyView): readonly AnyConfigObject[] {
  const { configs } = snapshot;
  return [...new Set(services.map(({ namespace }) => namespace))].flatMap((namespace) => {
    const own = services.filter((service) => service.namespace === namespace);
    const endpoints = own.flatMap(({ key }) => snapshot.endpoints(key));
    return configs.list("PeerAuthentication", namespace).filter((object) => {
      const selector = selectorOf(object);
      return Object.keys(selector).length === 0 || endpoints.some(({ labels }) => selects(selector, labels));
    });
  });
}

/** Rules of the proxy that are about a host, in their order: those that name it, and wildcards that cover it. */
export function createRuleLookup({ outbound }: ProxyView): (host: string) => readonly VirtualServiceRule[] {
  const rules = [
    ...new Set([
      ...outbound.egress.flatMap(({ virtualServices }) => virtualServices),
      ...(outbound.gateways?.virtualServices ?? []),
    ]),
  ];
  return createHostIndex(rules, ({ hosts }) => hosts);
}

/** Elements by host, in their order; those of wildcards for all hosts that they cover. */
function createHostIndex<Element>(
  elements: readonly Element[],
  hostsOf: (element: Element) => readonly string[],
): (host: string) => readonly Element[] {
  const places = elements.flatMap((element, order) => hostsOf(element).map((host) => ({ host, element, order })));
  const wildcards = places.filter(({ host }) => isWildcard(host));
  const exact = groupBy(
    places.filter(({ host }) => !isWildcard(host)),
    ({ host }) => host,
  );
  return (wanted) => {
    const found = [...(exact.get(wanted) ?? []), ...wildcards.filter(({ host }) => hostCovers(host, wanted))];
    return [...new Set(found.toSorted((a, b) => a.order - b.order).map(({ element }) => element))];
  };
}

function delegatesOf(
  { spec, namespace }: ConfigObject<"VirtualService">,
  { snapshot }: ProxyView,
): readonly AnyConfigObject[] {
  return spec.http.flatMap(({ delegate }) => {
    if (delegate === undefined) return [];
    return snapshot.configs.get("VirtualService", delegate.namespace || namespace, delegate.name) ?? [];
  });
}

/** Hosts of destinations, wherever they stand in a rule. */
function namedHosts(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(namedHosts);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) =>
    name === "host" && typeof inside === "string" ? [inside] : namedHosts(inside),
  );
}
