import { groupBy } from "../../model/group-by.ts";
import { KINDS, type Kind } from "../../specs/kinds.ts";
import type { DebugContext } from "../debug-context.ts";
import { type HttpAnswer, type HttpCall, json, text } from "../http-types.ts";

/** What generators remember; `?sizes` for the number of results alone, `?clear=true` to have everything made anew. */
export function cachez({ source }: DebugContext, { query }: Pick<HttpCall, "query">): HttpAnswer {
  const { counts, clear } = source.cache;
  if (query.get("clear") === "true") {
    clear();
    return text(200, "Cache cleared");
  }
  return json(query.has("sizes") ? { size: counts.size } : counts);
}

/** The snapshot that answers are made from, in numbers and names. */
export function pushContext({ snapshot }: DebugContext): HttpAnswer {
  const { version, mesh, services, virtualServices, configs } = snapshot();
  const byNamespace = groupBy(services, ({ namespace }) => namespace);
  const kinds = (Object.keys(KINDS) as Kind[]).map((kind) => [kind, configs.list(kind).length]);
  return json({
    version,
    trustDomain: mesh.trustDomain,
    rootNamespace: mesh.rootNamespace,
    objects: Object.fromEntries(kinds.filter(([, count]) => count !== 0)),
    services: Object.fromEntries([...byNamespace].map(([namespace, of]) => [namespace, of.map(showService)])),
    virtualServices: virtualServices.map(({ object, hosts }) => ({
      name: `${object.namespace}/${object.name}`,
      hosts,
    })),
  });
}

/** Clusters whose services are known: that of the server itself. */
export function clusterz({ clusterId }: DebugContext): HttpAnswer {
  return json([{ id: clusterId, secretName: "", syncStatus: "synced" }]);
}

/** Networks that endpoints are in; nothing leads from one to another. */
export function networkz({ registry }: DebugContext): HttpAnswer {
  const endpoints = registry.services().flatMap(({ key }) => registry.endpoints(key));
  const networks = [...groupBy(endpoints, ({ network }) => network)].map(([network, of]) => ({
    network,
    endpoints: of.length,
  }));
  return json({ networks, gateways: [] });
}

export function authorizationz(context: DebugContext): HttpAnswer {
  return json({ authorization_policies: byNamespace(context, "AuthorizationPolicy", "namespace_to_policies") });
}

export function telemetryz(context: DebugContext): HttpAnswer {
  return json({ telemetries: byNamespace(context, "Telemetry", "namespace_to_telemetries") });
}

function byNamespace({ snapshot }: DebugContext, kind: Kind, member: string) {
  const { configs, mesh } = snapshot();
  const objects = groupBy([...configs.list(kind)], ({ namespace }) => namespace);
  const shown = [...objects].map(([namespace, of]) => [
    namespace,
    of.map(({ name, source }) => ({ name, namespace, spec: source.spec })),
  ]);
  return { [member]: Object.fromEntries(shown), root_namespace: mesh.rootNamespace };
}

function showService({ hostname, ports }: { readonly hostname: string; readonly ports: readonly { port: number }[] }) {
  return { hostname, ports: ports.map(({ port }) => port) };
}
