import { KINDS, type Kind } from "../../istio-api/kinds.ts";
import { groupBy } from "../../mesh-model/lists.ts";
import type { NetworkGateway } from "../../mesh-model/networks.ts";
import {
  HttpError,
  type HttpHandler,
  type HttpRequest,
  json,
  type TextAnswer,
  text,
} from "../../net/http-server/http-types.ts";
import type { DebugPage } from "../ads/ads-context.ts";
import { type AccessOptions, isOfNamespace, requireCaller } from "./access.ts";
import type { DebugContext } from "./debug-context.ts";
import { configDump, resourcesPage } from "./pages/config-dump.ts";
import { explainPage } from "./pages/explain.ts";
import { clusterz, freshness } from "./pages/freshness.ts";
import { configz, endpointShardz, instancesz, meshConfig, pushStatus, registryz, sidecarz } from "./pages/mesh.ts";
import { adsz, connections, forceDisconnect, resourcesz, syncz } from "./pages/streams.ts";

type Page = (context: DebugContext, call: Pick<HttpRequest, "query">) => TextAnswer;

const PAGES: Readonly<Record<string, readonly [text: string, page: Page]>> = {
  adsz: ["who is connected and what it watches; ?push=true pushes", adsz],
  ambientz: ["ambient workloads, which are not served", nothing({ workloads: null, services: null, policies: null })],
  authorizationz: ["AuthorizationPolicies by namespace", authorizationz],
  cachez: ["what the cache of generated resources holds: ?sizes, ?clear=true empties it", cachez],
  clusterz: ["clusters whose services are known", clusterz],
  config_dump: ["what a proxy gets: ?proxyID=, types=, include_eds", configDump],
  configz: ["rule objects in force", configz],
  connections: ["who is connected", connections],
  ecdsz: ["extension configurations of a proxy: ?proxyID=", resourcesPage("ECDS")],
  edsz: ["endpoints of a proxy: ?proxyID=", resourcesPage("EDS")],
  endpointShardz: ["endpoints by host name and registry", endpointShardz],
  endpointz: ["the same, under its old name", endpointShardz],
  explain: ["what a proxy is sent and why: ?proxyID= or node=, type=, name=, why=, origins", explainPage],
  freshness: ["how old what is known of every cluster is, by kind", freshness],
  force_disconnect: ["ends a stream: ?proxyID=; only with UNSAFE_ENABLE_ADMIN_ENDPOINTS", forceDisconnect],
  inject: ["templates of injection in force", (context) => json(context.injectionTemplates())],
  instancesz: ["what connected proxies serve themselves", instancesz],
  mcsz: ["services of several clusters, which are not served", nothing([])],
  mesh: ["the mesh config in force", meshConfig],
  ndsz: ["the name table of a proxy: ?proxyID=", resourcesPage("NDS")],
  networkz: ["gateways that lead into networks", networkz],
  push_status: ["the last push: what collides, documents that were refused, rules that lose", pushStatus],
  pushcontext: ["the snapshot that answers are made from", pushContext],
  registryz: ["services of all registries", registryz],
  resourcesz: ["kinds of objects; ?proxyID= for names and versions a proxy was last sent", resourcesz],
  sidecarz: ["what a proxy may see: ?proxyID=", sidecarz],
  syncz: ["what every proxy was sent, accepted and refused", syncz],
  telemetryz: ["Telemetry objects by namespace", telemetryz],
};

/** What pages do besides showing themselves. */
const VARIANTS = ["adsz?push=true", "cachez?clear=true", "cachez?sizes=true", "list"];

/** Also for workloads outside the system namespace when debug pages are limited. */
const OPEN_TO_WORKLOADS = new Set(["config_dump", "ndsz", "edsz"]);

export interface DebugPagesOptions extends AccessOptions {
  readonly context: () => DebugContext | undefined;
  readonly systemNamespace: string;
  readonly limitsDebug: boolean;
}

/** `/debug/*` for callers on this machine, or with a token. */
export function createDebugHandler(options: DebugPagesOptions): HttpHandler {
  return async (call) => {
    const caller = await requireCaller(call, options);
    const name = call.path.replace(/^\/debug\/?/, "");
    if (options.limitsDebug && !OPEN_TO_WORKLOADS.has(name) && !isOfNamespace(caller, options.systemNamespace)) {
      throw new HttpError(403, `only identities of namespace ${options.systemNamespace} may see this page`);
    }
    if (name === "") return index();
    if (name === "list") return json([...Object.keys(PAGES), ...VARIANTS].sort());
    const context = options.context();
    if (context === undefined) throw new HttpError(503, "the server is starting");
    return renderPage(context, name, call) ?? text(404, "404 page not found");
  };
}

/** For debug requests over xDS: a path with an optional query. */
export function createDebugPage(context: () => DebugContext | undefined): DebugPage {
  return (path) => {
    const target = path.replace(/^\/?(debug\/)?/, "/");
    const current = context();
    if (current === undefined || !URL.canParse(target, "http://localhost")) return undefined;
    const url = new URL(target, "http://localhost");
    try {
      return renderPage(current, url.pathname.slice(1), { query: url.searchParams });
    } catch (thrown) {
      if (thrown instanceof HttpError) return { status: thrown.status, body: `${thrown.message}\n` };
      throw thrown;
    }
  };
}

function renderPage(context: DebugContext, name: string, call: Pick<HttpRequest, "query">): TextAnswer | undefined {
  return Object.hasOwn(PAGES, name) ? PAGES[name]?.[1](context, call) : undefined;
}

function index(): TextAnswer {
  const rows = Object.entries(PAGES).map(([name, [about]]) => `<li><a href="/debug/${name}">${name}</a> ${about}</li>`);
  const body = `<!doctype html><title>Pilot debug</title><h1>Debug pages</h1><ul>\n${rows.join("\n")}\n</ul>\n`;
  return { status: 200, contentType: "text/html; charset=utf-8", body };
}

/** What the cache of generated resources holds; `?sizes` for the number of results alone, `?clear=true` empties it. */
function cachez({ source }: DebugContext, { query }: Pick<HttpRequest, "query">): TextAnswer {
  const { counts, clear } = source.cache;
  if (query.get("clear") === "true") {
    clear();
    return text(200, "Cache cleared");
  }
  return json(query.has("sizes") ? { size: counts.size } : counts);
}

/** The snapshot that answers are made from, in numbers and names. */
function pushContext(context: DebugContext): TextAnswer {
  const { version, mesh, services, virtualServices, configs, networks } = context.snapshot();
  const byNamespace = groupBy(services, ({ namespace }) => namespace);
  const kinds = (Object.keys(KINDS) as Kind[]).map((kind) => [kind, configs.list(kind).length]);
  return json({
    AuthorizationPolicies: byNamespaceOf(context, "AuthorizationPolicy", "namespace_to_policies"),
    NetworkGateways: networks.gateways.map(showGateway),
    UnresolvedGateways: context.unresolvedGateways().map(showGateway),
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

/** Services of several clusters, ambient workloads: none of them is served. Injection has its own settings. */
function nothing(shape: unknown): () => TextAnswer {
  return () => json(shape);
}

function networkz({ snapshot }: DebugContext): TextAnswer {
  return json(snapshot().networks.gateways.map(showGateway));
}

/** As the reference shows it. */
function showGateway({ network, clusterId, address, port }: NetworkGateway) {
  return { Network: network, Cluster: clusterId, Addr: address, Port: port };
}

function authorizationz(context: DebugContext): TextAnswer {
  return json({ authorization_policies: byNamespaceOf(context, "AuthorizationPolicy", "namespace_to_policies") });
}

function telemetryz(context: DebugContext): TextAnswer {
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
