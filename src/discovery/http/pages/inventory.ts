import { KINDS, type Kind } from "../../../istio-api/kinds.ts";
import { groupBy } from "../../../mesh-model/lists.ts";
import { type HttpRequest, json, type TextAnswer, text } from "../../../net/http-server/http-types.ts";
import type { DebugContext } from "../debug-context.ts";

/** What the cache of generated resources holds; `?sizes` for the number of results alone, `?clear=true` empties it. */
export function cachez({ source }: DebugContext, { query }: Pick<HttpRequest, "query">): TextAnswer {
  const { counts, clear } = source.cache;
  if (query.get("clear") === "true") {
    clear();
    return text(200, "Cache cleared");
  }
  return json(query.has("sizes") ? { size: counts.size } : counts);
}

/** The snapshot that answers are made from, in numbers and names. */
export function pushContext(context: DebugContext): TextAnswer {
  const { version, mesh, services, virtualServices, configs } = context.snapshot();
  const byNamespace = groupBy(services, ({ namespace }) => namespace);
  const kinds = (Object.keys(KINDS) as Kind[]).map((kind) => [kind, configs.list(kind).length]);
  return json({
    AuthorizationPolicies: byNamespaceOf(context, "AuthorizationPolicy", "namespace_to_policies"),
    NetworkGateways: null,
    UnresolvedGateways: null,
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
export function clusterz({ clusterId }: DebugContext): TextAnswer {
  return json([{ id: clusterId, secretName: "", syncStatus: "synced" }]);
}

/** Gateways between networks, services of several clusters, ambient workloads, injection: none of them is served. */
export function nothing(shape: unknown): () => TextAnswer {
  return () => json(shape);
}

export function authorizationz(context: DebugContext): TextAnswer {
  return json({ authorization_policies: byNamespaceOf(context, "AuthorizationPolicy", "namespace_to_policies") });
}

export function telemetryz(context: DebugContext): TextAnswer {
  return json({ telemetries: byNamespaceOf(context, "Telemetry", "namespace_to_telemetries") });
}

function byNamespaceOf({ snapshot }: DebugContext, kind: Kind, member: string) {
  const { configs, mesh } = snapshot();
  const objects = groupBy([...configs.list(kind)], ({ namespace }) => namespace);
  const shown = [...objects].map(([namespace, of]) => [
    namespace,
    of.map(({ name, annotations, source }) => ({
      name,
      namespace,
      annotations: Object.keys(annotations).length === 0 ? null : annotations,
      spec: source.spec,
    })),
  ]);
  return { [member]: Object.fromEntries(shown), root_namespace: mesh.rootNamespace };
}

function showService({ hostname, ports }: { readonly hostname: string; readonly ports: readonly { port: number }[] }) {
  return { hostname, ports: ports.map(({ port }) => port) };
}
