import { encodeNameTable } from "../../protocol/dns/encode-name-table.ts";
import type { Cluster } from "../../protocol/gen/envoy/config/cluster/v3.ts";
import type { RouteConfiguration } from "../../protocol/gen/envoy/config/route/v3.ts";
import { any } from "../../protocol/protobuf/discovery.ts";
import type { EncodedResource, ResourceSet } from "../ads-server/resource-source.ts";
import type { Service } from "../model/service.ts";
import type { OutboundScope } from "../snapshot/push-snapshot.ts";
import { clusterInputs, clusterProblems, clustersOfService } from "./clusters.ts";
import { encodedResource, encodeResource } from "./encode-resource.ts";
import { endpointInputs, generateEndpoints } from "./endpoints.ts";
import {
  addedClusters,
  createPatching,
  type Patching,
  type PatchSet,
  patchClusters,
  patchListeners,
  patchRoute,
  scopePatches,
} from "./envoy-filter/index.ts";
import { generateGatewayListeners } from "./gateway/index.ts";
import { type GeneratedListeners, generateOutboundListeners } from "./listeners.ts";
import { generateNameTable } from "./name-table.ts";
import { onlyUnique, type ResourceGuard } from "./resource-guard.ts";
import { createResourceSet } from "./resource-set.ts";
import { generateRoute } from "./routes.ts";
import type { ScopeMemory } from "./scope-memories.ts";
import { outboundLogs } from "./telemetry/index.ts";

/** What proxies of one scope share. */
export interface ScopeResources {
  clusters(): ResourceSet;
  listeners(): ResourceSet;
  nameTable(): ResourceSet;
  named(type: "EDS" | "RDS", names: readonly string[]): ResourceSet;
  /** Settings of extensions that patches bring along; names that none brings are left out. */
  extensions(names: readonly string[]): ResourceSet;
}

/** Sets by what they are, made once. */
export type MadeSets = Map<string, ResourceSet>;

const NAME_TABLE = "type.googleapis.com/istio.networking.nds.v1.NameTable";

/** `lasting` is kept for as long as the scope's content is the same value: all but endpoints follow from it. */
export function createScopeResources(
  scope: OutboundScope,
  lasting: MadeSets,
  memory: ScopeMemory,
  encodeRoute: (route: RouteConfiguration) => EncodedResource,
  guard: ResourceGuard,
): ScopeResources {
  const passing: MadeSets = new Map();
  const ofList = new WeakMap<readonly string[], ResourceSet>();
  const once = (sets: MadeSets, key: string, make: () => readonly EncodedResource[]): ResourceSet => {
    const known = sets.get(key);
    if (known === undefined) memory.counts.misses += 1;
    else memory.counts.hits += 1;
    const set = known ?? createResourceSet(make());
    sets.set(key, set);
    return set;
  };
  const patches = scopePatches(scope);
  const patchingOf = (type: "CDS" | "LDS" | "RDS") => patches && outboundPatching(scope, patches, type, guard);
  const route = (name: string): ResourceSet =>
    once(lasting, `route ${name}`, () => {
      const patching = patchingOf("RDS");
      return guard.each("RDS", [name], String, () => {
        const made = generateRoute(scope, name);
        return encodeRoute(patching === undefined ? made : patchRoute(patching, made));
      });
    });
  return {
    clusters: () => once(lasting, "CDS", () => outboundClusters(scope, memory, guard, patchingOf("CDS"))),
    listeners: () =>
      once(lasting, "LDS", () => {
        for (const { label, reason } of patches?.bad ?? []) {
          guard.report({ effect: "refused-rule", type: "LDS", resource: label, reason });
        }
        return outboundListeners(scope, guard, patchingOf("LDS"));
      }),
    nameTable: () => once(lasting, "NDS", () => [nameTable(scope)]),
    extensions: (names) => once(lasting, `extensions ${keyOf(names)}`, () => extensions(patches, names)),
    // Proxies alike ask for the same names: by one list that the server shares, or by equal ones.
    named: (type, names) => {
      if (type === "RDS") {
        return once(lasting, `routes ${keyOf(names)}`, () => names.flatMap((name) => route(name).resources));
      }
      const known = ofList.get(names);
      if (known !== undefined) memory.counts.hits += 1;
      const make = () => names.flatMap((name) => endpoints(scope, name, memory, guard));
      const set = known ?? once(passing, keyOf(names), make);
      ofList.set(names, set);
      return set;
    },
  };
}

/** Clients choose their names, and no separator is safe from them: what one asks for must not be another's answer. */
function keyOf(names: readonly string[]): string {
  return JSON.stringify(names);
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
  memory: ScopeMemory,
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
    memory.clusters.recall(service.key, inputsOf(service), () => {
      for (const reason of clusterProblems(scope, service)) {
        guard.report({ effect: "refused-rule", type: "CDS", resource: service.hostname, reason });
      }
      const made = clustersOfService(scope, service);
      return encode(patching === undefined ? made : patchClusters(patching, made));
    }),
  );
  const added = patching && addedClusters(patching, new Set(ofServices.map(({ name }) => name)));
  const clusters = added === undefined ? ofServices : [...ofServices, ...encode(added)];
  memory.clusters.retain(new Set(scope.services.map((service) => service.key)));
  memory.endpoints.retain(new Set(clusters.map((cluster) => cluster.name)));
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

function endpoints(scope: OutboundScope, name: string, memory: ScopeMemory, guard: ResourceGuard) {
  return memory.endpoints.recall(name, endpointInputs(scope, name), () =>
    guard.each("EDS", [name], String, () =>
      encodeResource("envoy.config.endpoint.v3.ClusterLoadAssignment", name, generateEndpoints(scope, name)),
    ),
  );
}

function nameTable(scope: OutboundScope): EncodedResource {
  return encodedResource("", any.encode({ typeUrl: NAME_TABLE, value: encodeNameTable(generateNameTable(scope)) }));
}

function nameOf({ name = "" }: { readonly name?: string | undefined }): string {
  return name;
}
