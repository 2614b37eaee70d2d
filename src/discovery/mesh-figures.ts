import type { CachingSource } from "../envoy-config/index.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { Connection } from "./ads/connection.ts";
import type { MeshFigures } from "./metrics.ts";
import type { AggregateRegistry } from "./registries/create-aggregate-registry.ts";
import { resourceConflicts } from "./resource-conflicts.ts";

/** Counts what the mesh holds, at each scrape. */
export function meshFigures(
  { configs, view }: Pick<PushSnapshot, "configs" | "view">,
  { registry }: { readonly registry: Pick<AggregateRegistry, "services" | "endpoints"> },
  proxies: readonly Pick<Connection, "node" | "view">[],
  source: Pick<CachingSource, "problems">,
): MeshFigures {
  const services = registry.services();
  const empty = services.filter(({ key }) => registry.endpoints(key).length === 0);
  const isNotReady = (health: string) => health !== "Healthy" && health !== "Unknown";
  return {
    services: services.length,
    virtualServices: configs.list("VirtualService").length,
    servicesWithoutEndpoints: empty.length,
    endpointsNotReady: services.flatMap(({ key }) => registry.endpoints(key)).filter(({ health }) => isNotReady(health))
      .length,
    sidecarsWithoutService: proxies.filter(
      ({ node }) => node.type === "sidecar" && view(node).inbound.targets.length === 0,
    ).length,
    conflicts: resourceConflicts(proxies, source),
    dnsWithoutEndpoints: empty.filter(({ resolution }) => resolution.startsWith("DNS")).length,
  };
}
