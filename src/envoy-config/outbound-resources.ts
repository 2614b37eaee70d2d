import { createDerivedStore } from "../mesh-model/derive/derived-store.ts";
import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { Service } from "../mesh-model/service.ts";
import type { Cluster } from "../protobuf/gen/envoy/config/cluster/v3.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { encodeNameTable } from "../xds/name-table.ts";
import type { EncodedResource, ResourceSet } from "../xds/resource-source.ts";
import { NAME_TABLE_TYPE } from "../xds/type-urls.ts";
import { clusterProblems, clustersOfService } from "./clusters/generate-clusters.ts";
import { encodedResource, encodeResource } from "./encoded-resource.ts";
import { generateEndpoints, isKnownAssignment } from "./endpoints/load-assignment.ts";
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
import {
  isEqualSet,
  type MadeResources,
  type MadeSet,
  type ScopeResources,
  type ScopeStores,
  toSet,
} from "./resource-cache.ts";
import { onlyUnique, type ResourceGuard, type ResourceProblem } from "./resource-problems.ts";
import { generateRoute } from "./routes/generate-route.ts";
import type { Attempt, FailedObject } from "./shared/attempt.ts";
import { SCOPE } from "./shared/worlds.ts";
import { outboundReporting } from "./telemetry/reporting.ts";
import { pluginConfig, pullSecretOf } from "./wasm/plugin-config.ts";
import { resourceName, scopePlugins, type WasmPlugin } from "./wasm/wasm-plugins.ts";

/** How resources are made. */
export interface Making {
  readonly encodeRoute: (route: RouteConfiguration) => EncodedResource;
  /** Runs what makes resources, and takes down what shows. */
  collect(make: (guard: ResourceGuard) => readonly EncodedResource[]): MadeResources;
}

/**
 * The resources of a scope in one snapshot. Each is derived from the scope with a reader of its own: a function below that makes something
 * knows nothing but its reader and its arguments.
 */
export function createScopeResources(scope: OutboundScope, stores: ScopeStores, making: Making): ScopeResources {
  const setOf = (type: string, make: (reader: OutboundScope) => MadeResources): ResourceSet =>
    stores.sets.get(scope, type, { make: (reader) => toSet(make(reader)) }).set;
  // Proxies alike ask for the same names, by one list that the server shares.
  const ofList = (type: string, names: readonly string[], make: (reader: OutboundScope) => MadeResources) => {
    const store =
      stores.lists.get(names) ??
      createDerivedStore<OutboundScope, MadeSet>({ kind: SCOPE, counts: stores.counts, isEqual: isEqualSet });
    stores.lists.set(names, store);
    return store.get(scope, type, { make: (reader) => toSet(make(reader)) }).set;
  };
  return {
    clusters: () => setOf("CDS", (reader) => outboundClusters(reader, stores, making)),
    listeners: () => setOf("LDS", (reader) => outboundListeners(reader, stores, making)),
    nameTable: () => setOf("NDS", (reader) => ({ resources: [nameTable(reader)], problems: [] })),
    extensions: (names) =>
      ofList("ECDS", names, (reader) =>
        making.collect((guard) => extensions(guard, patchesOf(reader, stores), scopePlugins(reader).all, names)),
      ),
    named: (type, names) =>
      ofList(type, names, (reader) => {
        const made = type === "RDS" ? routeNamed : endpointsNamed;
        return joined(names.map((name) => made(reader, name, stores, making)));
      }),
  };
}

function joined(made: readonly MadeResources[]): MadeResources {
  return {
    resources: made.flatMap(({ resources }) => resources),
    problems: made.flatMap(({ problems }) => problems),
  };
}

/** What EnvoyFilter objects say about proxies of the scope. */
function patchesOf(reader: OutboundScope, { patches }: ScopeStores): PatchSet | undefined {
  return patches.get(reader, "", { make: scopePatches });
}

function patchingOf(
  reader: OutboundScope,
  patches: PatchSet | undefined,
  type: "CDS" | "LDS" | "RDS",
  guard: ResourceGuard,
): Patching | undefined {
  if (patches === undefined) return undefined;
  const context = reader.traits.type === "sidecar" ? "SIDECAR_OUTBOUND" : "GATEWAY";
  return createPatching(patches, context, (resource, reason) =>
    guard.report({ effect: "refused-rule", type, resource, reason }),
  );
}

function encodeClusters(guard: ResourceGuard, clusters: readonly Cluster[], of?: Service): readonly EncodedResource[] {
  const encode = (cluster: Cluster) => encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster);
  return guard.each("CDS", clusters, nameOf, encode, of);
}

function outboundClusters(reader: OutboundScope, stores: ScopeStores, making: Making): MadeResources {
  const { services } = reader;
  const patches = patchesOf(reader, stores);
  const ofServices = joined(
    services.map((service) =>
      stores.clusters.get(reader, service.key, {
        args: [service, patches],
        make: (own) => serviceResources(own, service, patches, making),
      }),
    ),
  );
  const all = making.collect((guard) => {
    const patching = patchingOf(reader, patches, "CDS", guard);
    const added = patching && addedClusters(patching, new Set(ofServices.resources.map(({ name }) => name)));
    const clusters =
      added === undefined ? ofServices.resources : [...ofServices.resources, ...encodeClusters(guard, added)];
    return onlyUnique(clusters, ({ name }) =>
      guard.report({
        effect: "left-out",
        type: "CDS",
        resource: name,
        reason: "the name is used twice",
        isRepeated: true,
      }),
    );
  });
  stores.clusters.retain(new Set(services.map((service) => service.key)));
  stores.endpoints.retain(new Set(all.resources.map((cluster) => cluster.name)));
  return { resources: all.resources, problems: [...ofServices.problems, ...all.problems] };
}

function serviceResources(
  reader: OutboundScope,
  service: Service,
  patches: PatchSet | undefined,
  making: Making,
): MadeResources {
  return making.collect((guard) => {
    const made =
      guard.attempt(
        "CDS",
        service.hostname,
        () => {
          for (const reason of clusterProblems(reader, service)) {
            guard.report({ effect: "refused-rule", type: "CDS", resource: service.hostname, reason });
          }
          return clustersOfService(reader, service);
        },
        service,
      ) ?? [];
    const patching = patchingOf(reader, patches, "CDS", guard);
    return encodeClusters(guard, patching === undefined ? made : patchClusters(patching, made), service);
  });
}

function outboundListeners(reader: OutboundScope, stores: ScopeStores, making: Making): MadeResources {
  return making.collect((guard) => {
    const refuse = (resource: string, reasons: readonly string[]) => {
      for (const reason of reasons) guard.report({ effect: "refused-rule", type: "LDS", resource, reason });
    };
    for (const { label, reason } of patchesOf(reader, stores)?.bad ?? []) refuse(label, [reason]);
    const { listeners, conflicts, problems, failed } = listenersOf(reader, guard.attempts("LDS"));
    guard.conflicts(conflicts);
    const resource = reader.gateways === undefined ? "virtualOutbound" : "gateway";
    refuse(resource, problems);
    for (const policy of [...failed, ...scopePlugins(reader).failed])
      guard.report({ effect: "refused-rule", type: "LDS", resource, ...policy });
    const patching = patchingOf(reader, patchesOf(reader, stores), "LDS", guard);
    const patched = patching === undefined ? listeners : patchListeners(patching, listeners);
    return guard.each("LDS", patched, nameOf, (listener) =>
      encodeResource("envoy.config.listener.v3.Listener", nameOf(listener), listener),
    );
  });
}

function listenersOf(
  scope: OutboundScope,
  attempt: Attempt,
): GeneratedListeners & { readonly problems: readonly string[]; readonly failed: readonly FailedObject[] } {
  if (scope.gateways !== undefined) return { ...generateGatewayListeners(scope, attempt), conflicts: [] };
  const { problems, failed } = outboundReporting(scope);
  return { ...generateOutboundListeners(scope, attempt), problems, failed };
}

function routeNamed(from: OutboundScope, name: string, stores: ScopeStores, making: Making): MadeResources {
  return stores.routes.get(from, name, {
    make: (reader) =>
      making.collect((guard) => {
        const patching = patchingOf(reader, patchesOf(reader, stores), "RDS", guard);
        return guard.each("RDS", [name], String, () => {
          const made =
            reader.gateways === undefined
              ? generateRoute(reader, name, guard.attempts("RDS"))
              : generateGatewayRoute(reader, name, guard.attempts("RDS"));
          return making.encodeRoute(patching === undefined ? made : patchRoute(patching, made));
        });
      }),
  });
}

function endpointsNamed(from: OutboundScope, name: string, stores: ScopeStores, making: Making): MadeResources {
  return stores.endpoints.get(from, name, {
    make: (reader) => ({
      ...making.collect((guard) =>
        guard.each("EDS", [name], String, () =>
          encodeResource("envoy.config.endpoint.v3.ClusterLoadAssignment", name, generateEndpoints(reader, name)),
        ),
      ),
      // Names of nothing are as many as clients like.
      isKnown: isKnownAssignment(reader, name),
    }),
  });
}

function extensions(
  guard: ResourceGuard,
  patches: PatchSet | undefined,
  plugins: readonly WasmPlugin[],
  names: readonly string[],
): readonly EncodedResource[] {
  const added = (patches?.of("EXTENSION_CONFIG") ?? []).filter(({ operation }) => operation === "ADD");
  const configs = new Map(added.map(({ value }) => [nameOf(value), value]));
  const byName = new Map(plugins.map((plugin) => [resourceName(plugin), plugin]));
  return names.flatMap((name) => {
    const config = configs.get(name);
    const plugin = byName.get(name);
    const encode = () =>
      config === undefined
        ? plugin && encodePlugin(plugin)
        : encodeResource("envoy.config.core.v3.TypedExtensionConfig", name, config);
    return guard.attempt("ECDS", name, encode, config === undefined ? plugin : undefined) ?? [];
  });
}

/** Without the Secret that its module is fetched with: what is shared by proxies holds none. */
function encodePlugin(plugin: WasmPlugin): EncodedResource {
  const encode = (secret?: string) =>
    encodeResource("envoy.config.core.v3.TypedExtensionConfig", resourceName(plugin), pluginConfig(plugin, secret));
  const key = pullSecretOf(plugin);
  return key === undefined ? encode() : { ...encode(), pullSecret: { key, complete: encode } };
}

function nameTable(scope: OutboundScope): EncodedResource {
  return encodedResource(
    "",
    any.encode({ typeUrl: NAME_TABLE_TYPE, value: encodeNameTable(generateNameTable(scope)) }),
  );
}

/** What showed when the scope's resources were made, as far as they are still there. */
export function scopeProblems({ sets, routes, endpoints }: ScopeStores): readonly ResourceProblem[] {
  return [sets, routes, endpoints].flatMap((store) => [...store.values()].flatMap(({ value }) => value.problems));
}

function nameOf({ name = "" }: { readonly name?: string | undefined }): string {
  return name;
}
