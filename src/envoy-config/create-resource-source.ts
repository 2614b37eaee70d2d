import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import type { InboundScope, OutboundScope, ProxyView } from "../mesh-model/push-snapshot.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { message, repeatedString } from "../protobuf/wire/message.ts";
import { createResourceSet, joinSets } from "../xds/resource-set.ts";
import type { ResourceSet, ResourceSource } from "../xds/resource-source.ts";
import { PROXY_CONFIG_TYPE } from "../xds/type-urls.ts";
import type { XdsType } from "../xds/xds-types.ts";
import { createRouteEncoder, encodedResource } from "./encoded-resource.ts";
import { takenName } from "./envoy-filter/patching.ts";
import { GRPC_GENERATOR, grpcResources } from "./grpc-resources.ts";
import { inboundResources, inboundTraits } from "./inbound-resources.ts";
import {
  type ContentSets,
  createContentSets,
  createScopeResources,
  type MadeSets,
  type ScopeResources,
} from "./outbound-resources.ts";
import { type CacheCounts, createCacheCounts, createScopeCaches } from "./resource-cache.ts";
import { createResourceGuard, type ResourceGuard, type ResourceProblem } from "./resource-problems.ts";

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
    readonly counts: Readonly<CacheCounts>;
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
  const guard = createResourceGuard(onProblem);
  let problems = new WeakMap<object, ResourceProblem[]>();
  /** What shows while resources of `owner` are made stays with it, as they are not made again while it is the same. */
  const guardOf = (owner: object): ResourceGuard =>
    createResourceGuard((problem) => {
      memoize(problems, owner, () => []).push(problem);
      onProblem(problem);
    });
  const encodeRoute = createRouteEncoder();
  const counts = createCacheCounts();
  const caches = createScopeCaches(counts);
  let scopes = new WeakMap<OutboundScope, ScopeResources>();
  let contentSets = new WeakMap<OutboundScope["content"], ContentSets>();
  let own = new WeakMap<InboundScope, MadeSets>();

  const scopeOf = ({ outbound }: ProxyView): ScopeResources =>
    memoize(scopes, outbound, () => {
      const made = memoize(contentSets, outbound.content, createContentSets);
      return createScopeResources(outbound, made, caches.of(outbound), encodeRoute, guardOf(outbound.content));
    });
  const ownOf = (view: ProxyView, type: "CDS" | "LDS"): ResourceSet => {
    const made = memoize(own, view.inbound, () => new Map());
    return memoize(made, `${type} ${inboundTraits(view)}`, () =>
      createResourceSet(inboundResources(view, type, guardOf(view.inbound))),
    );
  };

  let asked = new WeakMap<ProxyView, Map<string, ResourceSet>>();
  /** Programs that speak xDS themselves get what they ask for by name, in forms of their own; endpoints are the same for all. */
  const grpcOf = (view: ProxyView, type: Exclude<XdsType, "EDS">, names: readonly string[]): ResourceSet => {
    const sets = memoize(asked, view, () => new Map<string, ResourceSet>());
    const key = JSON.stringify([type, ...names]);
    const known = sets.get(key) ?? createResourceSet(grpcResources(view, type, names, { guard, encodeRoute }));
    // One list of each type is enough for a client; the number of lists per client is limited.
    if (sets.size > MAX_LISTS) sets.clear();
    sets.set(key, known);
    return known;
  };

  let anchors = { pem: "", set: EMPTY };
  const proxyConfigOf = (bundle: readonly string[]): ResourceSet => {
    const pem = bundle.join("\n");
    if (pem !== anchors.pem) anchors = { pem, set: createResourceSet([proxyConfigResource(bundle)]) };
    return anchors.set;
  };

  const clear = () => {
    caches.clear();
    [scopes, contentSets, own, asked] = [new WeakMap(), new WeakMap(), new WeakMap(), new WeakMap()];
    problems = new WeakMap();
    anchors = { pem: "", set: EMPTY };
  };
  const source: CachingSource = {
    cache: { counts, clear },
    problems: ({ outbound, inbound }) => [outbound.content, inbound].flatMap((owner) => problems.get(owner) ?? []),
    all(view, type) {
      if (view.node.generator === GRPC_GENERATOR && type !== "EDS") return grpcOf(view, type, []);
      if (type === "CDS") return joinUnique(type, scopeOf(view).clusters(), ownOf(view, type), guard);
      if (type === "LDS") return joinUnique(type, scopeOf(view).listeners(), ownOf(view, type), guard);
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

/**
 * A listener of the workload may ask for the address of an outbound one, where both are really bound, and patches may bring along
 * anything. Clusters of the workload have names of their own.
 */
function joinUnique(type: "CDS" | "LDS", shared: ResourceSet, own: ResourceSet, guard: ResourceGuard): ResourceSet {
  const taken = own.resources.filter(
    ({ name, addedBy }) => (type === "LDS" || addedBy !== undefined) && shared.get(name) !== undefined,
  );
  if (taken.length === 0) return joinSets(shared, own);
  for (const { name, addedBy } of taken) {
    if (addedBy === undefined) guard.report({ effect: "left-out", type, resource: name, reason: ADDRESS_TAKEN });
    else guard.report({ effect: "refused-rule", type, resource: name, reason: `${addedBy}: ${takenName(name)}` });
  }
  return joinSets(shared, createResourceSet(own.resources.filter((resource) => !taken.includes(resource))));
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
