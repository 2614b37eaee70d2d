import { HttpError, type HttpRequest, json, type TextAnswer } from "../../../net/http-server/http-types.ts";
import { decodeMessage } from "../../../protobuf/envoy/index.ts";
import { TYPE_PREFIX } from "../../../protobuf/type-url.ts";
import { any } from "../../../protobuf/wire/discovery.ts";
import { decodeNameTable } from "../../../xds/name-table.ts";
import type { EncodedResource } from "../../../xds/resource-source.ts";
import type { XdsType } from "../../../xds/xds-types.ts";
import { traitsOf, XDS_TYPES } from "../../../xds/xds-types.ts";
import type { Connection } from "../../ads/connection.ts";
import type { DebugContext } from "../debug-context.ts";
import { requireProxy } from "./streams.ts";

const MESSAGES: Partial<Record<XdsType, Parameters<typeof decodeMessage>[0]>> = {
  CDS: "envoy.config.cluster.v3.Cluster",
  LDS: "envoy.config.listener.v3.Listener",
  RDS: "envoy.config.route.v3.RouteConfiguration",
  EDS: "envoy.config.endpoint.v3.ClusterLoadAssignment",
};

/** What a proxy gets at this moment, in the form of Envoy's own dump. `?types=CDS,RDS` shows the resources of these types alone. */
export function configDump(context: DebugContext, call: Pick<HttpRequest, "query">): TextAnswer {
  const connection = requireProxy(context, call);
  const asked = (call.query.get("types") ?? "").split(",").filter((name) => name !== "");
  if (asked.length > 0) {
    const types = new Set(asked.map(typeNamed));
    return configs([...types].flatMap((type) => shownOf(context, connection, type).map(({ message }) => message)));
  }
  const versionInfo = connection.view().snapshot.version;
  const include = call.query.get("include_eds") ?? "false";
  return configs([
    dump("Bootstrap"),
    dump("Clusters", {
      versionInfo,
      dynamicActiveClusters: shownOf(context, connection, "CDS").map(({ version, message }) => ({
        versionInfo: version,
        cluster: message,
      })),
    }),
    ...(include === "false" ? [] : [endpointsDump(context, connection)]),
    dump("Listeners", {
      versionInfo,
      dynamicListeners: shownOf(context, connection, "LDS").map(({ name, version, message }) => ({
        name,
        activeState: { versionInfo: version, listener: message },
      })),
    }),
    dump("ScopedRoutes"),
    dump("Routes", {
      dynamicRouteConfigs: shownOf(context, connection, "RDS").map(({ version, message }) => ({
        versionInfo: version,
        routeConfig: message,
      })),
    }),
    // Names and versions alone: what they hold is for the proxy.
    dump("Secrets", {
      dynamicActiveSecrets: (connection.sent("SDS")?.resources ?? []).map(({ name, version }) => ({
        name,
        versionInfo: version,
      })),
    }),
    dump("Ecds"),
  ]);
}

/** Pages of one type: its resources as the proxy gets them. */
export function resourcesPage(type: XdsType): (context: DebugContext, call: Pick<HttpRequest, "query">) => TextAnswer {
  return (context, call) => configs(shownOf(context, requireProxy(context, call), type).map(({ message }) => message));
}

function endpointsDump(context: DebugContext, connection: Connection) {
  return dump("Endpoints", {
    dynamicEndpointConfigs: shownOf(context, connection, "EDS").map(({ version, message }) => ({
      versionInfo: version,
      endpointConfig: message,
    })),
  });
}

function dump(name: string, members: object = {}) {
  return { "@type": `${TYPE_PREFIX}envoy.admin.v3.${name}ConfigDump`, ...members };
}

/** A message without members is written without them. */
function configs(list: readonly unknown[]): TextAnswer {
  return json(list.length === 0 ? {} : { configs: list });
}

/** By its short name in either case, by its type URL, or by what it holds. */
function typeNamed(name: string): XdsType {
  const found = XDS_TYPES.find(
    ({ type, url }) => type === name.toUpperCase() || url === name || HOLDS[type] === name.toLowerCase(),
  );
  if (found !== undefined) return found.type;
  const allowed = XDS_TYPES.map(({ type }) => type).join(", ");
  throw new HttpError(400, `types has ${JSON.stringify(name)}, allowed are ${allowed}`);
}

const HOLDS: Partial<Record<XdsType, string>> = { CDS: "clusters", EDS: "endpoints", LDS: "listeners", RDS: "routes" };

interface Shown {
  readonly name: string;
  readonly version: string;
  readonly message: object;
}

/** Of types with names, those the proxy watches. */
function shownOf({ source }: DebugContext, connection: Connection, type: XdsType): readonly Shown[] {
  const { needsNames, url } = traitsOf(type);
  const names = connection.subscriptions.get(type)?.names.list ?? [];
  if (needsNames && names.length === 0) return [];
  const view = connection.view();
  const { resources } = needsNames ? source.named(view, type, names) : source.all(view, type);
  return resources.map((resource) => ({
    name: resource.name,
    version: resource.version,
    message: { "@type": url, ...decoded(type, resource) },
  }));
}

function decoded(type: XdsType, resource: EncodedResource): object {
  const value = Buffer.from(any.decode(resource.any).value);
  if (type === "NDS") return { table: tableOf(value) };
  const message = MESSAGES[type];
  return message === undefined ? {} : decodeMessage(message, value);
}

/** Members that are empty are left out, as everywhere in this form. */
function tableOf(value: Buffer) {
  const isSaid = (member: unknown) => member !== "" && !(Array.isArray(member) && member.length === 0);
  return Object.fromEntries(
    Object.entries(decodeNameTable(value).table).map(([host, info]) => [
      host,
      Object.fromEntries(Object.entries(info).filter(([, member]) => isSaid(member))),
    ]),
  );
}
