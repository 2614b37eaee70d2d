import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { Service } from "../mesh-model/service.ts";
import type { Cluster } from "../protobuf/gen/envoy/config/cluster/v3.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { encodeNameTable } from "../xds/name-table.ts";
import { createResourceSet } from "../xds/resource-set.ts";
import type { EncodedResource, ResourceSet } from "../xds/resource-source.ts";
import { NAME_TABLE_TYPE } from "../xds/type-urls.ts";
import { outboundLogs } from "./access-log/telemetry.ts";
import { clusterInputs, clusterProblems, clustersOfService } from "./clusters/generate-clusters.ts";
import { encodedResource, encodeResource } from "./encoded-resource.ts";
import { endpointInputs, generateEndpoints } from "./endpoints/load-assignment.ts";
import { addedClusters, patchClusters } from "./envoy-filter/patch-clusters.ts";
import { patchListeners } from "./envoy-filter/patch-listeners.ts";
import { patchRoute } from "./envoy-filter/patch-routes.ts";
import { type PatchSet, scopePatches } from "./envoy-filter/patches.ts";
import { createPatching, type Patching } from "./envoy-filter/patching.ts";
import { generateGatewayListeners } from "./gateway/gateway-listeners.ts";
import { generateGatewayRoute } from "./gateway/gateway-routes.ts";
import type { GeneratedListeners } from "./listeners/listener-conflict.ts";
import { generateOutboundListeners } from "./listeners/outbound.ts";
import { generateNameTable } from "./name-table.ts";
import type { ScopeCache } from "./resource-cache.ts";
import { onlyUnique, type ResourceGuard } from "./resource-problems.ts";
import { generateRoute } from "./routes/generate-route.ts";

/** What proxies of one scope share. */
export interface ScopeResources {
  clusters(): ResourceSet;
  listeners(): ResourceSet;
  nameTable(): ResourceSet;
  named(type: "EDS" | "RDS", names: readonly string[]): ResourceSet;
  /** Settings of extensions that patches bring along; names that none brings are left out. */
  extensions(names: readonly string[]): ResourceSet;
}

/** Sets by type and name, memoized. */
export type MadeSets = Map<string, ResourceSet>;

/** Sets by the list of names that was asked for, which its clients hold: an unused list is collected. */
type SetsOfLists = WeakMap<readonly string[], ResourceSet>;

/** What stays for as long as the scope's content is the same value: all but endpoints follow from it. */
export interface ContentSets {
  readonly made: MadeSets;
  readonly routes: SetsOfLists;
  readonly extensions: SetsOfLists;
}

export const createContentSets = (): ContentSets => ({
  made: new Map(),
  routes: new WeakMap(),
  extensions: new WeakMap(),
});

/** Clients may ask for any name, so that the number of cached routes is limited. */
const MAX_ROUTES = 4000;

export function createScopeResources(
  scope: OutboundScope,
  content: ContentSets,
  cache: ScopeCache,
  encodeRoute: (route: RouteConfiguration) => EncodedResource,
  guard: ResourceGuard,
): ScopeResources {
  const endpointSets: SetsOfLists = new WeakMap();
  const counted = (known: ResourceSet | undefined, make: () => readonly EncodedResource[]): ResourceSet => {
    if (known === undefined) cache.counts.misses += 1;
    else cache.counts.hits += 1;
    return known ?? createResourceSet(make());
  };
  const memoized = (key: string, make: () => readonly EncodedResource[]): ResourceSet => {
    const set = counted(content.made.get(key), make);
    content.made.set(key, set);
    return set;
  };
  // Proxies alike ask for the same names, by one list that the server shares.
  const ofList = (sets: SetsOfLists, names: readonly string[], make: () => readonly EncodedResource[]) => {
    const set = counted(sets.get(names), make);
    sets.set(names, set);
    return set;
  };
  const patches = scopePatches(scope);
  const patchingOf = (type: "CDS" | "LDS" | "RDS") => patches && outboundPatching(scope, patches, type, guard);
  const route = (name: string): ResourceSet => {
    const set = memoized(`route ${name}`, () => {
      const patching = patchingOf("RDS");
      return guard.each("RDS", [name], String, () => {
        const made = scope.gateways === undefined ? generateRoute(scope, name) : generateGatewayRoute(scope, name);
        return encodeRoute(patching === undefined ? made : patchRoute(patching, made));
      });
    });
    if (content.made.size > MAX_ROUTES) evictOldestRoute(content.made);
    return set;
  };
  return {
    clusters: () => memoized("CDS", () => outboundClusters(scope, cache, guard, patchingOf("CDS"))),
    listeners: () =>
      memoized("LDS", () => {
        for (const { label, reason } of patches?.bad ?? []) {
          guard.report({ effect: "refused-rule", type: "LDS", resource: label, reason });
        }
        return outboundListeners(scope, guard, patchingOf("LDS"));
      }),
    nameTable: () => memoized("NDS", () => [nameTable(scope)]),
    extensions: (names) => ofList(content.extensions, names, () => extensions(patches, names)),
    named: (type, names) =>
      type === "RDS"
        ? ofList(content.routes, names, () => names.flatMap((name) => route(name).resources))
        : ofList(endpointSets, names, () => names.flatMap((name) => endpoints(scope, name, cache, guard))),
  };
}

function evictOldestRoute(sets: MadeSets): void {
  for (const key of sets.keys()) {
    if (key.startsWith("route ")) return void sets.delete(key);
  }
}

function outboundPatching(
  { traits }: OutboundScope,
  patches: PatchSet,
  type: "CDS" | "LDS" | "RDS",
  guard: ResourceGuard,
): Patching {
  const context = traits.type === "sidecar" ? "SIDECAR_OUTBOUND" : "GATEWAY";
  return createPatching(patches, context, (resource, reason) =>
    guard.report({ effect: "refused-rule", type, resource, reason }),
  );
}

function outboundClusters(
  scope: OutboundScope,
  cache: ScopeCache,
  guard: ResourceGuard,
  patching: Patching | undefined,
): readonly EncodedResource[] {
  const encode = (clusters: readonly Cluster[]) =>
    guard.each("CDS", clusters, nameOf, (cluster) =>
      encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster),
    );
  const inputsOf = (service: Service) =>
    patching === undefined
      ? clusterInputs(scope, service)
      : [...clusterInputs(scope, service), ...patching.of("CLUSTER")];
  const ofServices = scope.services.flatMap((service) =>
    cache.clusters.memoize(service.key, inputsOf(service), () => {
      for (const reason of clusterProblems(scope, service)) {
        guard.report({ effect: "refused-rule", type: "CDS", resource: service.hostname, reason });
      }
      const made = clustersOfService(scope, service);
      return encode(patching === undefined ? made : patchClusters(patching, made));
    }),
  );
  const added = patching && addedClusters(patching, new Set(ofServices.map(({ name }) => name)));
  const clusters = added === undefined ? ofServices : [...ofServices, ...encode(added)];
  cache.clusters.retain(new Set(scope.services.map((service) => service.key)));
  cache.endpoints.retain(new Set(clusters.map((cluster) => cluster.name)));
  return onlyUnique(clusters, ({ name }) =>
    guard.report({
      effect: "left-out",
      type: "CDS",
      resource: name,
      reason: "the name is used twice",
      isRepeated: true,
    }),
  );
}

function outboundListeners(
  scope: OutboundScope,
  guard: ResourceGuard,
  patching: Patching | undefined,
): readonly EncodedResource[] {
  const refuse = (resource: string, reasons: readonly string[]) => {
    for (const reason of reasons) guard.report({ effect: "refused-rule", type: "LDS", resource, reason });
  };
  const { listeners, conflicts, problems } = listenersOf(scope);
  guard.conflicts(conflicts);
  refuse(scope.gateways === undefined ? "virtualOutbound" : "gateway", problems);
  const patched = patching === undefined ? listeners : patchListeners(patching, listeners);
  return guard.each("LDS", patched, nameOf, (listener) =>
    encodeResource("envoy.config.listener.v3.Listener", nameOf(listener), listener),
  );
}

function listenersOf(scope: OutboundScope): GeneratedListeners & { readonly problems: readonly string[] } {
  if (scope.gateways !== undefined) return { ...generateGatewayListeners(scope), conflicts: [] };
  return { ...generateOutboundListeners(scope), problems: outboundLogs(scope).problems };
}

function extensions(patches: PatchSet | undefined, names: readonly string[]): readonly EncodedResource[] {
  const added = (patches?.of("EXTENSION_CONFIG") ?? []).filter(({ operation }) => operation === "ADD");
  const configs = new Map(added.map(({ value }) => [nameOf(value), value]));
  return names.flatMap((name) => {
    const config = configs.get(name);
    return config === undefined ? [] : [encodeResource("envoy.config.core.v3.TypedExtensionConfig", name, config)];
  });
}

function endpoints(scope: OutboundScope, name: string, cache: ScopeCache, guard: ResourceGuard) {
  const make = () =>
    guard.each("EDS", [name], String, () =>
      encodeResource("envoy.config.endpoint.v3.ClusterLoadAssignment", name, generateEndpoints(scope, name)),
    );
  const inputs = endpointInputs(scope, name);
  // Names of nothing are as many as clients like.
  return inputs.length === 0 ? make() : cache.endpoints.memoize(name, inputs, make);
}

function nameTable(scope: OutboundScope): EncodedResource {
  return encodedResource(
    "",
    any.encode({ typeUrl: NAME_TABLE_TYPE, value: encodeNameTable(generateNameTable(scope)) }),
  );
}

function nameOf({ name = "" }: { readonly name?: string | undefined }): string {
  return name;
}
