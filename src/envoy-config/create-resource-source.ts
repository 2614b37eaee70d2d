import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import {
  createDerivedStore,
  createStoreCounts,
  type DerivedStore,
  type StoreCounts,
} from "../mesh-model/derive/derived-store.ts";
import type { ProxyNode } from "../mesh-model/proxy/proxy-node.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { message, repeatedString } from "../protobuf/wire/message.ts";
import { createResourceSet, joinSets } from "../xds/resource-set.ts";
import type { EncodedResource, ResourceSet, ResourceSource } from "../xds/resource-source.ts";
import { PROXY_CONFIG_TYPE } from "../xds/type-urls.ts";
import type { XdsType } from "../xds/xds-types.ts";
import { createRouteEncoder, encodedResource } from "./encoded-resource.ts";
import { takenName } from "./envoy-filter/patching.ts";
import { GRPC_GENERATOR, grpcResources } from "./grpc-resources.ts";
import { inboundResources } from "./inbound-resources.ts";
import { createScopeResources, type Making, scopeProblems } from "./outbound-resources.ts";
import { createAllScopeStores, isEqualSet, type MadeSet, type ScopeResources, toSet } from "./resource-cache.ts";
import { createResourceGuard, type ResourceGuard, type ResourceProblem } from "./resource-problems.ts";
import { VIEW } from "./shared/worlds.ts";

interface ResourceSourceOptions {
  /** Something that cannot be sent and was left out; the rest is sent. */
  readonly onProblem: (problem: ResourceProblem) => void;
  /** Trust anchors that running agents are sent, PEM text each; without it they keep those they got with their certificate. */
  readonly trustBundle?: () => readonly string[];
}

/** A source that caches what it generated. */
export interface CachingSource extends ResourceSource<ProxyView> {
  /** What showed when the resources that the proxy has now were made, whenever that was. */
  problems(view: ProxyView): readonly ResourceProblem[];
  readonly cache: {
    readonly counts: Readonly<StoreCounts>;
    /** Everything is generated again on the next request; equal results have the same version as before. */
    clear(): void;
  };
}

const EMPTY = createResourceSet([]);
const MAX_LISTS = 16;
const ADDRESS_TAKEN = "an outbound listener has this address; give the ingress listener another `bind`";

/**
 * Makes resources once for all proxies that are alike, and again only where something they are made from changed: per service for
 * clusters, per assignment for endpoints, per virtual host for routes.
 */
export function createResourceSource({ onProblem, trustBundle }: ResourceSourceOptions): CachingSource {
  const making: Making = {
    encodeRoute: createRouteEncoder(),
    collect: (make) => {
      const problems: ResourceProblem[] = [];
      const guard = createResourceGuard((problem) => {
        problems.push(problem);
        onProblem(problem);
      });
      return { resources: make(guard), problems };
    },
  };
  const counts = createStoreCounts();
  const scopes = createAllScopeStores(counts);
  const scopeOf = ({ outbound }: ProxyView): ScopeResources => {
    const stores = scopes.of(outbound);
    // Proxies of the scope ask one after the other.
    if (stores.latest?.scope !== outbound) {
      stores.latest = { scope: outbound, resources: createScopeResources(outbound, stores, making) };
    }
    return stores.latest.resources;
  };
  let workloads = new WeakMap<ProxyNode, WorkloadStores>();
  const workloadOf = ({ node }: ProxyView): WorkloadStores => memoize(workloads, node, createWorkloadStores);
  const ownOf = (view: ProxyView, type: "CDS" | "LDS"): ResourceSet =>
    workloadOf(view).own.get(view, type, {
      make: (reader) => toSet(making.collect((guard) => inboundResources(reader, type, guard))),
    }).set;
  /** Programs that speak xDS themselves get what they ask for by name, in forms of their own; endpoints are the same for all. */
  const grpcOf = (view: ProxyView, type: Exclude<XdsType, "EDS">, names: readonly string[]): ResourceSet =>
    workloadOf(view).asked.get(view, JSON.stringify([type, ...names]), {
      make: (reader) => toSet(making.collect((guard) => grpcResources(reader, type, names, { ...making, guard }))),
    }).set;
  const joinedOf = (view: ProxyView, type: "CDS" | "LDS"): ResourceSet => {
    const { joined } = workloadOf(view);
    const shared = type === "CDS" ? scopeOf(view).clusters() : scopeOf(view).listeners();
    const own = ownOf(view, type);
    const known = joined.get(type);
    if (known?.shared === shared && known.own === own) return known.set;
    const made = making.collect((guard) => freeResources(type, shared, own, guard));
    const set = joinSets(
      shared,
      made.resources.length === own.resources.length ? own : createResourceSet(made.resources),
    );
    joined.set(type, { shared, own, set, problems: made.problems });
    return set;
  };

  let anchors = { pem: "", set: EMPTY };
  const proxyConfigOf = (bundle: readonly string[]): ResourceSet => {
    const pem = bundle.join("\n");
    if (pem !== anchors.pem) anchors = { pem, set: createResourceSet([proxyConfigResource(bundle)]) };
    return anchors.set;
  };

  const clear = () => {
    scopes.clear();
    workloads = new WeakMap();
    anchors = { pem: "", set: EMPTY };
  };
  const source: CachingSource = {
    cache: { counts, clear },
    problems: (view) => [...scopeProblems(scopes.of(view.outbound)), ...workloadProblems(workloadOf(view))],
    all(view, type) {
      if (view.node.generator === GRPC_GENERATOR && type !== "EDS") return grpcOf(view, type, []);
      if (type === "CDS" || type === "LDS") return joinedOf(view, type);
      if (type === "PCDS" && trustBundle !== undefined) return proxyConfigOf(trustBundle());
      return type === "NDS" ? scopeOf(view).nameTable() : EMPTY;
    },
    named(view, type, names) {
      if (view.node.generator === GRPC_GENERATOR && type !== "EDS") return grpcOf(view, type, names);
      if (type === "EDS" || type === "RDS") return scopeOf(view).named(type, names);
      if (type === "ECDS") return scopeOf(view).extensions(names);
      const all = source.all(view, type);
      return createResourceSet(names.flatMap((name) => all.get(name) ?? []));
    },
  };
  return source;
}

/** What belongs to one proxy, for as long as it is connected and registered as it is. */
interface WorkloadStores {
  readonly own: DerivedStore<ProxyView, MadeSet>;
  /** By type and names. */
  readonly asked: DerivedStore<ProxyView, MadeSet>;
  readonly joined: Map<string, MadeSet & { readonly shared: ResourceSet; readonly own: ResourceSet }>;
}

function createWorkloadStores(): WorkloadStores {
  return {
    own: createDerivedStore({ kind: VIEW, isEqual: isEqualSet }),
    // One list of each type is enough for a client.
    asked: createDerivedStore({ kind: VIEW, isEqual: isEqualSet, maxEntries: MAX_LISTS }),
    joined: new Map(),
  };
}

function workloadProblems({ own, asked, joined }: WorkloadStores): readonly ResourceProblem[] {
  const derived = [...own.values(), ...asked.values()].map(({ value }) => value);
  return [...derived, ...joined.values()].flatMap(({ problems }) => problems);
}

/**
 * What of the workload's own can be sent beside what it shares. A listener of it may ask for the address of an outbound one, where both are
 * really bound, and patches may bring along anything. Clusters of the workload have names of their own.
 */
function freeResources(
  type: "CDS" | "LDS",
  shared: ResourceSet,
  own: ResourceSet,
  guard: ResourceGuard,
): readonly EncodedResource[] {
  return own.resources.filter(({ name, addedBy }) => {
    const isTaken = (type === "LDS" || addedBy !== undefined) && shared.get(name) !== undefined;
    if (isTaken && addedBy === undefined) {
      guard.report({ effect: "left-out", type, resource: name, reason: ADDRESS_TAKEN });
    } else if (isTaken) {
      guard.report({ effect: "refused-rule", type, resource: name, reason: `${addedBy}: ${takenName(name)}` });
    }
    return !isTaken;
  });
}

interface Known<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

function proxyConfigResource(bundle: readonly string[]) {
  const value = encodeProxyConfig(generateProxyConfig(bundle));
  return encodedResource("", any.encode({ typeUrl: PROXY_CONFIG_TYPE, value }));
}

function memoize<Key, Value>(known: Known<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

/**
 * What agents take from the control plane while they run: the trust anchors of the mesh, PEM text each, in the order in which they
 * are to be tried. Everything else of ProxyConfig is read when an agent starts.
 */
export function generateProxyConfig(trustBundle: readonly string[]): ProxyConfig {
  return { caCertificatesPem: [...new Set(trustBundle)] };
}

/** istio.mesh.v1alpha1.ProxyConfig as far as `generateProxyConfig` fills it. */
export function encodeProxyConfig({ caCertificatesPem = [] }: ProxyConfig): Buffer {
  return CODEC.encode({ caCertificatesPem: [...caCertificatesPem] });
}

const CODEC = message({ caCertificatesPem: repeatedString(34) });
