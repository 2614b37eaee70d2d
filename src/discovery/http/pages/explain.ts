import {
  EXPLAINED_TYPES,
  type ExplainedType,
  type Explanation,
  explainAll,
  explainWhy,
  originsOf,
  refineOrigins,
  resourcesOf,
} from "../../../explain/index.ts";
import { NodeError, parseNode, type XdsNode } from "../../../mesh-model/proxy/parse-node.ts";
import type { ProxyView } from "../../../mesh-model/push-snapshot.ts";
import { HttpError, type HttpRequest, json, type TextAnswer } from "../../../net/http-server/http-types.ts";
import type { Origin } from "../../../simulate/index.ts";
import type { DebugContext } from "../debug-context.ts";
import { requireProxy } from "./streams.ts";

type ExplainContext = Pick<DebugContext, "snapshot" | "source" | "connections" | "locate">;

/** Proxies are served by the same thread. */
const REFINING_MS = 500;
const MAX_OBJECTS = 2000;

/**
 * What a proxy is sent, connected (`?proxyID=`) or not (`?node=` with the node of a discovery request): names and versions; one resource
 * whole (`name=`), or the objects that it comes from (`why=`; `origins` for all clusters, listeners and routes).
 */
export function explainPage(context: ExplainContext, call: Pick<HttpRequest, "query">): TextAnswer {
  const { query } = call;
  const view = viewOf(context, call);
  const type = query.get("type") ?? "";
  if (type !== "" && !isType(type)) {
    throw new HttpError(400, `type is ${JSON.stringify(type)}, allowed are ${EXPLAINED_TYPES.join(", ")}`);
  }
  const { resources, problems } = resourcesOf(
    view,
    type === "" ? EXPLAINED_TYPES : [type as ExplainedType],
    context.source,
  );
  if (query.has("origins")) return json(explainAll(resources, originsOf(view)).map((one) => located(context, one)));
  const why = query.get("why");
  if (why !== null) {
    const found = explainWhy(resources, why, originsOf(view));
    if (found.length === 0)
      throw new HttpError(404, `nothing that the proxy is sent has the name ${JSON.stringify(why)}`);
    const end = performance.now() + REFINING_MS;
    const limits = { isLate: () => performance.now() > end, maxObjects: MAX_OBJECTS };
    return json(refineOrigins(view, found, { resources, ...limits }).map((one) => located(context, one)));
  }
  const name = query.get("name");
  if (name === null)
    return json({
      resources: resources.map(({ type: of, name: its, version }) => ({ type: of, name: its, version })),
      problems: problems.map(({ text, origin }) =>
        origin === undefined ? text : `${text}, of ${context.locate(origin).map(titleOf).join(", ")}`,
      ),
    });
  const named = resources.filter((resource) => resource.name === name);
  if (named.length === 0) throw new HttpError(404, `the proxy is sent no resource of the name ${JSON.stringify(name)}`);
  return json(named.map(({ type: of, version, value }) => ({ type: of, version, value })));
}

function isType(type: string): type is ExplainedType {
  return (EXPLAINED_TYPES as readonly string[]).includes(type);
}

function viewOf(context: ExplainContext, call: Pick<HttpRequest, "query">): ProxyView {
  const node = call.query.get("node");
  if (node === null) return requireProxy(context, call).view();
  try {
    return context.snapshot().view(parseNode(JSON.parse(node) as XdsNode));
  } catch (thrown) {
    if (thrown instanceof NodeError || thrown instanceof SyntaxError)
      throw new HttpError(400, `node: ${thrown.message}`);
    throw thrown;
  }
}

/** `Service prod/web (cluster east, version 7)`, `VirtualService prod/web (mesh.yaml:12)`. */
function titleOf({ kind, namespace, name, file, line, cluster, resourceVersion }: Origin): string {
  const inCluster = cluster === undefined ? "" : ` (cluster ${cluster}, version ${resourceVersion ?? "unknown"})`;
  return `${kind} ${namespace}/${name}${file === undefined ? inCluster : ` (${file}:${line})`}`;
}

function located({ locate }: ExplainContext, explanation: Explanation): Explanation {
  return {
    ...explanation,
    origins: explanation.origins.flatMap(locate),
    parts: explanation.parts.map((part) => ({ ...part, origins: part.origins.flatMap(locate) })),
  };
}
