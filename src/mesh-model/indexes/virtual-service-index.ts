import { deepFreeze } from "../../base/deep-freeze.ts";
import { type ConfigObject, objectKey } from "../../istio-api/config-object.ts";
import type { Destination, HttpMatch, HttpRoute, VirtualServiceSpec } from "../../istio-api/specs.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";
import { mapChanged, sameElements } from "../lists.ts";
import type { MeshSettings } from "../mesh-settings.ts";
import type { VirtualServiceRule } from "../push-snapshot.ts";
import { isVisibleTo } from "../visibility.ts";
import { mergeDelegate } from "./merge-delegate.ts";

type VirtualService = ConfigObject<"VirtualService">;
type Settings = Pick<MeshSettings, "domainSuffix" | "defaultVirtualServiceExportTo">;

/** All rules in the form that generators read, and who sees which. */
export interface VirtualServiceIndex {
  readonly given: readonly VirtualService[];
  readonly settings: Settings;
  /** Those that have hosts; oldest first. */
  readonly rules: readonly VirtualServiceRule[];
  /** Bound to the mesh and shown to the namespace: to it alone, to it among others, to everybody; in each the oldest first. */
  visibleTo(namespace: string): readonly VirtualServiceRule[];
  /** The same of those that are bound to gateways. */
  gatewayRules(namespace: string): readonly VirtualServiceRule[];
  /** Names of source labels that some match asks for. */
  readonly sourceLabels: ReadonlySet<string>;
  /** Lists given out so far. */
  readonly visible: ReadonlyMap<string, readonly VirtualServiceRule[]>;
  /** From which objects a rule was made. */
  readonly made: ReadonlyMap<string, Made>;
}

interface Made {
  readonly rule: VirtualServiceRule;
  readonly delegates: readonly (VirtualService | undefined)[];
}

export function buildVirtualServiceIndex(
  given: readonly VirtualService[],
  { domainSuffix, defaultVirtualServiceExportTo }: Settings,
  previous?: VirtualServiceIndex,
): VirtualServiceIndex {
  const settings = { domainSuffix, defaultVirtualServiceExportTo };
  const known = previous !== undefined && hasSameSettings(previous.settings, settings) ? previous : undefined;
  if (known !== undefined && sameElements(known.given, given)) return known;
  const roots = given.filter(({ spec }) => spec.hosts.length > 0);
  const delegates = new Map(given.filter(({ spec }) => spec.hosts.length === 0).map((one) => [fullName(one), one]));
  const made = new Map(roots.map((root) => [objectKey(root), make(root, delegates, settings, known)]));
  return toIndex(given, settings, made, known?.visible);
}

/** A function of its own: here nothing can hold the index before, which would hold all that were before it. */
function toIndex(
  given: readonly VirtualService[],
  settings: Settings,
  made: ReadonlyMap<string, Made>,
  visibleBefore: VirtualServiceIndex["visible"] | undefined,
): VirtualServiceIndex {
  const rules = Object.freeze([...made.values()].map(({ rule }) => rule));
  const meshRules = rules.filter(({ spec }) => spec.gateways.includes(MESH_GATEWAY));
  const visible = new Map<string, readonly VirtualServiceRule[]>();
  const shownTo = (all: readonly VirtualServiceRule[], namespace: string) =>
    closestFirst(
      all.filter(({ object }) => isShown(object, namespace, settings)),
      namespace,
      settings,
    );
  return {
    given,
    settings,
    rules,
    visible,
    made,
    gatewayRules: (namespace) =>
      shownTo(
        rules.filter(({ spec }) => spec.gateways.some((name) => name !== MESH_GATEWAY)),
        namespace,
      ),
    sourceLabels: new Set(rules.flatMap(sourceLabelsOf)),
    visibleTo: (namespace) => {
      let found = visible.get(namespace);
      if (found === undefined) {
        const selected = Object.freeze(shownTo(meshRules, namespace));
        const earlier = visibleBefore?.get(namespace);
        found = earlier !== undefined && sameElements(earlier, selected) ? earlier : selected;
        visible.set(namespace, found);
      }
      return found;
    },
  };
}

function hasSameSettings(a: Settings, b: Settings): boolean {
  const exportTo = sameElements(a.defaultVirtualServiceExportTo, b.defaultVirtualServiceExportTo);
  return exportTo && a.domainSuffix === b.domainSuffix;
}

function isShown({ spec, namespace }: VirtualService, to: string, settings: Settings): boolean {
  return isVisibleTo(spec.exportTo, namespace, to, settings.defaultVirtualServiceExportTo);
}

/** Rules for a namespace count before rules for all. */
function closestFirst(
  rules: readonly VirtualServiceRule[],
  to: string,
  { defaultVirtualServiceExportTo }: Settings,
): VirtualServiceRule[] {
  const distance = ({ object: { spec, namespace } }: VirtualServiceRule) => {
    const entries = spec.exportTo.length > 0 ? spec.exportTo : defaultVirtualServiceExportTo;
    if (entries.includes("*")) return 2;
    return namespace === to ? 0 : 1;
  };
  return rules.toSorted((a, b) => distance(a) - distance(b));
}

function fullName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** A rule is made again only when it or one of its delegates changed. */
function make(
  root: VirtualService,
  all: ReadonlyMap<string, VirtualService>,
  settings: Settings,
  previous: VirtualServiceIndex | undefined,
): Made {
  const named = root.spec.http.flatMap(({ delegate }) => (delegate === undefined ? [] : [delegate]));
  const delegates = named.map(({ name, namespace }) => {
    const found = all.get(fullName({ name, namespace: namespace || root.namespace }));
    return found !== undefined && isShown(found, root.namespace, settings) ? found : undefined;
  });
  const known = previous?.made.get(objectKey(root));
  if (known?.rule.object === root && sameElements(known.delegates, delegates)) return known;
  return { rule: toRule(root, delegates, settings), delegates };
}

function toRule(
  root: VirtualService,
  delegates: readonly (VirtualService | undefined)[],
  { domainSuffix }: Settings,
): VirtualServiceRule {
  const spec = resolveVirtualService(root.spec, root.namespace, domainSuffix);
  const remaining = [...delegates];
  const http = spec.http.flatMap((route): readonly HttpRoute[] => {
    if (route.delegate === undefined) return [route];
    const delegate = remaining.shift();
    // A route whose delegate is missing has no destination: requests go on to the next one.
    if (delegate === undefined) return [];
    const resolved = resolveVirtualService(delegate.spec, delegate.namespace, domainSuffix);
    return mergeDelegate(route, resolved.http);
  });
  return deepFreeze({ object: root, hosts: spec.hosts, spec: { ...spec, http } });
}

function sourceLabelsOf({ spec }: VirtualServiceRule): readonly string[] {
  const matches = [...spec.http, ...spec.tls, ...spec.tcp].flatMap(({ match }) => [...match]);
  return matches.flatMap(({ sourceLabels }) => Object.keys(sourceLabels));
}

/** The gateway name that stands for all sidecars. */
export const MESH_GATEWAY = "mesh";

/**
 * Hosts, destinations and gateways with their full names: short ones mean things beside the rule. Parts that have none are the given ones:
 * copies of a rule with thousands of routes would stop the control plane for as long as they take.
 */
function resolveVirtualService(spec: VirtualServiceSpec, namespace: string, domain: string): VirtualServiceSpec {
  const host = (name: string) => resolveShortHost(name, namespace, domain);
  const destination = (to: Destination): Destination => withChanged(to, { host: host(to.host) });
  const weighted = <To extends { readonly destination?: Destination | undefined }>(to: To): To =>
    to.destination === undefined ? to : withChanged(to, { destination: destination(to.destination) } as Partial<To>);
  const gateways = (names: readonly string[]) => mapChanged(names, (name) => gatewayName(name, namespace));
  const match = <Match extends { readonly gateways: readonly string[] }>(of: Match): Match =>
    withChanged(of, { gateways: gateways(of.gateways) } as Partial<Match>);
  const tls = (route: TlsRoute): TlsRoute =>
    withChanged(route, { match: mapChanged(route.match, match), route: mapChanged(route.route, weighted) });
  const tcp = (route: TcpRoute): TcpRoute =>
    withChanged(route, { match: mapChanged(route.match, match), route: mapChanged(route.route, weighted) });
  const http = (route: HttpRoute): HttpRoute =>
    withChanged(route, {
      match: mapChanged<HttpMatch>(route.match, match),
      route: mapChanged(route.route, weighted),
      ...(route.mirror && { mirror: destination(route.mirror) }),
      mirrors: mapChanged(route.mirrors, weighted),
      ...(route.delegate && {
        delegate: withChanged(route.delegate, { namespace: route.delegate.namespace || namespace }),
      }),
    });
  return {
    ...spec,
    hosts: mapChanged(spec.hosts, host),
    gateways: spec.gateways.length === 0 ? [MESH_GATEWAY] : gateways(spec.gateways),
    http: mapChanged(spec.http, http),
    tls: mapChanged(spec.tls, tls),
    tcp: mapChanged(spec.tcp, tcp),
  };
}

type TlsRoute = VirtualServiceSpec["tls"][number];
type TcpRoute = VirtualServiceSpec["tcp"][number];

/** The given value when it has these members already. */
function withChanged<Value extends object>(value: Value, members: Partial<Value>): Value {
  for (const name in members) if (members[name] !== value[name]) return { ...value, ...members };
  return value;
}

/** `name` and the old `name.namespace.svc...` are spelled `namespace/name`. */
function gatewayName(name: string, namespace: string): string {
  if (name === MESH_GATEWAY) return name;
  if (name.includes("/")) return name;
  const [first = name, second] = name.split(".");
  return `${second ?? namespace}/${first}`;
}
