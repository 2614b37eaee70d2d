import { decodeNameTable } from "../../../protocol/dns/name-table-message.ts";
import { decodeMessage } from "../../../protocol/envoy/index.ts";
import { any } from "../../../protocol/protobuf/discovery.ts";
import type { Connection } from "../../ads-server/connection.ts";
import { traitsOf } from "../../ads-server/core/xds-types.ts";
import type { EncodedResource, XdsType } from "../../ads-server/resource-source.ts";
import type { DebugContext } from "../debug-context.ts";
import { type HttpAnswer, type HttpCall, HttpProblem, json } from "../http-types.ts";
import { requireProxy } from "./streams.ts";

const MESSAGES = {
  CDS: "envoy.config.cluster.v3.Cluster",
  LDS: "envoy.config.listener.v3.Listener",
  RDS: "envoy.config.route.v3.RouteConfiguration",
  EDS: "envoy.config.endpoint.v3.ClusterLoadAssignment",
} as const;
type DumpedType = keyof typeof MESSAGES;

interface Section {
  readonly type: DumpedType;
  /** Names of `?types=`. */
  readonly name: string;
  readonly dump: string;
  readonly member: string;
  readonly show: (resource: EncodedResource) => unknown;
}

const SECTIONS: readonly Section[] = [
  section("CDS", "clusters", "ClustersConfigDump", "dynamicActiveClusters", (message, versionInfo) => ({
    versionInfo,
    cluster: message,
  })),
  section("LDS", "listeners", "ListenersConfigDump", "dynamicListeners", (listener, versionInfo, name) => ({
    name,
    activeState: { versionInfo, listener },
  })),
  section("RDS", "routes", "RoutesConfigDump", "dynamicRouteConfigs", (routeConfig, versionInfo) => ({
    versionInfo,
    routeConfig,
  })),
  section("EDS", "endpoints", "EndpointsConfigDump", "dynamicEndpointConfigs", (endpointConfig, versionInfo) => ({
    versionInfo,
    endpointConfig,
  })),
];

/** What a proxy gets at this moment, in the form of Envoy's own dump. `?types=clusters,routes` limits it. */
export function configDump(context: DebugContext, call: Pick<HttpCall, "query">): HttpAnswer {
  const connection = requireProxy(context, call);
  const wanted = wantedTypes(call.query);
  const configs = SECTIONS.filter(({ name }) => wanted.has(name)).map(({ type, dump, member, show }) => ({
    "@type": `type.googleapis.com/envoy.admin.v3.${dump}`,
    [member]: resourcesOf(context, connection, type).map(show),
  }));
  return json({ configs });
}

export function edsz(context: DebugContext, call: Pick<HttpCall, "query">): HttpAnswer {
  const connection = requireProxy(context, call);
  return json(resourcesOf(context, connection, "EDS").map((resource) => decoded("EDS", resource)));
}

export function ndsz(context: DebugContext, call: Pick<HttpCall, "query">): HttpAnswer {
  const connection = requireProxy(context, call);
  const [table] = resourcesOf(context, connection, "NDS");
  return json(table === undefined ? { table: {} } : decodeNameTable(any.decode(table.any).value));
}

export function ecdsz(context: DebugContext, call: Pick<HttpCall, "query">): HttpAnswer {
  const connection = requireProxy(context, call);
  return json(resourcesOf(context, connection, "ECDS").map(({ name, version }) => ({ name, version })));
}

function wantedTypes(query: URLSearchParams): ReadonlySet<string> {
  const names = SECTIONS.map(({ name }) => name);
  const asked = (query.get("types") ?? "").split(",").filter((name) => name !== "");
  const unknown = asked.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new HttpProblem(400, `types has ${JSON.stringify(unknown)}, allowed are ${names.join(", ")}`);
  }
  const endpoints = query.has("include_eds") && query.get("include_eds") !== "false" ? ["endpoints"] : [];
  return new Set(asked.length > 0 ? [...asked, ...endpoints] : ["clusters", "listeners", "routes", ...endpoints]);
}

/** Of types with names, those the proxy watches. */
function resourcesOf({ source }: DebugContext, connection: Connection, type: XdsType): readonly EncodedResource[] {
  if (!traitsOf(type).needsNames) return source.all(connection.view(), type).resources;
  const names = connection.watches.get(type)?.names.list ?? [];
  return names.length === 0 ? [] : source.named(connection.view(), type, names).resources;
}

function section(
  type: DumpedType,
  name: string,
  dump: string,
  member: string,
  show: (message: unknown, version: string, name: string) => unknown,
): Section {
  return {
    type,
    name,
    dump,
    member,
    show: (resource) => show(withType(type, resource), resource.version, resource.name),
  };
}

function withType(type: DumpedType, resource: EncodedResource): unknown {
  return { "@type": `type.googleapis.com/${MESSAGES[type]}`, ...decoded(type, resource) };
}

function decoded(type: DumpedType, resource: EncodedResource): object {
  return decodeMessage(MESSAGES[type], Buffer.from(any.decode(resource.any).value));
}
