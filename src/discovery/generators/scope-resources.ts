import { encodeNameTable } from "../../protocol/dns/encode-name-table.ts";
import type { RouteConfiguration } from "../../protocol/gen/envoy/config/route/v3.ts";
import { any } from "../../protocol/protobuf/discovery.ts";
import type { EncodedResource, ResourceSet } from "../ads-server/resource-source.ts";
import type { OutboundScope } from "../snapshot/push-snapshot.ts";
import { clusterInputs, clusterProblems, clustersOfService } from "./clusters.ts";
import { encodedResource, encodeResource } from "./encode-resource.ts";
import { endpointInputs, generateEndpoints } from "./endpoints.ts";
import { generateOutboundListeners } from "./listeners.ts";
import { generateNameTable } from "./name-table.ts";
import { onlyUnique, type ResourceGuard } from "./resource-guard.ts";
import { createResourceSet } from "./resource-set.ts";
import { generateRoute } from "./routes.ts";
import type { ScopeMemory } from "./scope-memories.ts";

/** What proxies of one scope share in one snapshot. */
export interface ScopeResources {
  clusters(): ResourceSet;
  listeners(): ResourceSet;
  nameTable(): ResourceSet;
  named(type: "EDS" | "RDS", names: readonly string[]): ResourceSet;
}

const NAME_TABLE = "type.googleapis.com/istio.networking.nds.v1.NameTable";

export function createScopeResources(
  scope: OutboundScope,
  memory: ScopeMemory,
  encodeRoute: (route: RouteConfiguration) => EncodedResource,
  guard: ResourceGuard,
): ScopeResources {
  const made = new Map<string, ResourceSet>();
  const once = (key: string, make: () => readonly EncodedResource[]): ResourceSet => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const set = createResourceSet(make());
    made.set(key, set);
    return set;
  };
  const routes = new Map<string, readonly EncodedResource[]>();
  const route = (name: string): readonly EncodedResource[] => {
    const known = routes.get(name);
    if (known !== undefined) return known;
    const resources = guard.each("RDS", [name], String, () => encodeRoute(generateRoute(scope, name)));
    routes.set(name, resources);
    return resources;
  };
  return {
    clusters: () => once("CDS", () => outboundClusters(scope, memory, guard)),
    listeners: () => once("LDS", () => outboundListeners(scope, guard)),
    nameTable: () => once("NDS", () => [nameTable(scope)]),
    // Proxies alike ask for the same names, so that the joined list is a key that many share.
    named: (type, names) =>
      once(`${type}\n${names.join("\n")}`, () =>
        names.flatMap((name) => (type === "EDS" ? endpoints(scope, name, memory, guard) : route(name))),
      ),
  };
}

function outboundClusters(scope: OutboundScope, memory: ScopeMemory, guard: ResourceGuard): readonly EncodedResource[] {
  const clusters = scope.services.flatMap((service) =>
    memory.clusters.recall(service.key, clusterInputs(scope, service), () => {
      for (const reason of clusterProblems(scope, service)) {
        guard.report({ type: "CDS", resource: service.hostname, reason });
      }
      return guard.each("CDS", clustersOfService(scope, service), nameOf, (cluster) =>
        encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster),
      );
    }),
  );
  memory.clusters.retain(new Set(scope.services.map((service) => service.key)));
  memory.endpoints.retain(new Set(clusters.map((cluster) => cluster.name)));
  return onlyUnique(clusters, ({ name }) =>
    guard.report({ type: "CDS", resource: name, reason: "the name is used twice" }),
  );
}

function outboundListeners(scope: OutboundScope, guard: ResourceGuard): readonly EncodedResource[] {
  const { listeners } = generateOutboundListeners(scope);
  return guard.each("LDS", listeners, nameOf, (listener) =>
    encodeResource("envoy.config.listener.v3.Listener", nameOf(listener), listener),
  );
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
