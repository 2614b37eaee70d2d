import { KINDS } from "../../../istio-api/kinds.ts";
import type { Locality } from "../../../mesh-model/locality.ts";
import { HttpError, type HttpRequest, json, type TextAnswer, text } from "../../../net/http-server/http-types.ts";
import { type Subscription, syncState } from "../../../xds/subscription.ts";
import type { XdsType } from "../../../xds/xds-types.ts";
import { traitsOf, XDS_TYPES } from "../../../xds/xds-types.ts";
import type { Connection } from "../../ads/connection.ts";
import { namesOf, refusedObjects } from "../../status/core/refused-objects.ts";
import type { DebugContext } from "../debug-context.ts";
import { topologyLabels } from "./show-service.ts";

const NOT_CONNECTED = "Proxy not connected to this Pilot instance. It may be connected to another instance.";

/** Who is connected and what it watches; `?push=true` makes and pushes a new snapshot. */
export function adsz(context: DebugContext, { query }: Pick<HttpRequest, "query">): TextAnswer {
  if (query.get("push") === "true") {
    context.push();
    return text(200, `Pushed to ${context.connections.all().length} servers`);
  }
  const clients = context.connections.all().map((connection) => ({
    connectionId: connection.id,
    connectedAt: new Date(connection.connectedAt).toISOString(),
    address: connection.peerAddress,
    protocol: connection.protocol,
    identities: connection.identities,
    labels: { ...connection.node.labels, ...topologyLabels(connection.node) },
    metadata: connection.node.metadata,
    locality: showLocality(connection.node.locality),
    watches: Object.fromEntries(
      [...connection.subscriptions].map(([type, { names }]) => [traitsOf(type).url, names.list]),
    ),
    refused: refusals(connection),
  }));
  return json({ totalClients: clients.length, clients });
}

export function connections(context: DebugContext): TextAnswer {
  const clients = context.connections.all().map(({ id, connectedAt, peerAddress }) => ({
    connectionId: id,
    connectedAt: new Date(connectedAt).toISOString(),
    address: peerAddress,
  }));
  return json({ totalClients: clients.length, clients });
}

const SYNC_NAMES: readonly (readonly [XdsType, string])[] = [
  ["CDS", "cluster"],
  ["LDS", "listener"],
  ["RDS", "route"],
  ["EDS", "endpoint"],
  ["ECDS", "extensionconfig"],
];

/** How far every proxy is: what it was sent, what it accepted, and why it refused what it refused. */
export function syncz(context: DebugContext, { query }: Pick<HttpRequest, "query">): TextAnswer {
  const namespace = query.get("namespace");
  const proxies = context.connections.all().filter(({ node }) => namespace === null || node.namespace === namespace);
  return json(
    proxies.map((connection) => {
      const { node, subscriptions } = connection;
      const pairs = SYNC_NAMES.flatMap(([type, name]) => {
        const subscription = subscriptions.get(type);
        if (subscription === undefined || subscription.nonceSent === "") return [];
        return [
          [`${name}_sent`, subscription.nonceSent],
          ...(subscription.nonceAcked === "" ? [] : [[`${name}_acked`, subscription.nonceAcked]]),
        ];
      });
      return {
        cluster_id: node.clusterId,
        proxy: node.id,
        proxy_type: node.type,
        istio_version: node.istioVersion,
        ...Object.fromEntries(pairs),
        resources: Object.fromEntries(
          [...subscriptions].map(([type, subscription]) => [
            traitsOf(type).url,
            { ...resourceState(subscription), ...suspects(connection, type, subscription) },
          ]),
        ),
      };
    }),
  );
}

/** The kinds of objects that are read; of one proxy, the names and versions it was last sent. */
export function resourcesz(context: DebugContext, call: Pick<HttpRequest, "query">): TextAnswer {
  if (!call.query.has("proxyID")) {
    return json(Object.entries(KINDS).map(([kind, { group, versions }]) => ({ group, version: versions[0], kind })));
  }
  const connection = requireProxy(context, call);
  return json(
    Object.fromEntries(
      XDS_TYPES.flatMap(({ type }) => {
        const sent = connection.sent(type);
        if (sent === undefined) return [];
        return [
          [type, { version: sent.version, resources: sent.resources.map(({ name, version }) => ({ name, version })) }],
        ];
      }),
    ),
  );
}

export function forceDisconnect(context: DebugContext, call: Pick<HttpRequest, "query">): TextAnswer {
  if (!context.allowsAdmin) throw new HttpError(404, "404 page not found: UNSAFE_ENABLE_ADMIN_ENDPOINTS is not set");
  requireProxy(context, call).close("disconnected by an operator");
  return text(200, "OK");
}

/** `?proxyID=`: the id of a stream, or of the proxy that has it. */
export function requireProxy(
  context: Pick<DebugContext, "connections">,
  { query }: Pick<HttpRequest, "query">,
): Connection {
  const id = query.get("proxyID") ?? "";
  if (id === "") throw new HttpError(400, "You must provide a proxyID in the query string");
  const connection = context.connections.find(id);
  if (connection === undefined) throw new HttpError(404, NOT_CONNECTED);
  return connection;
}

/** What is sent and acknowledged, by nonce; versions follow from content and may be equal for several nonces. */
function resourceState(subscription: Subscription) {
  return {
    ...(subscription.nonceSent === "" ? {} : { sent: subscription.nonceSent }),
    ...(subscription.nonceAcked === "" ? {} : { acked: subscription.nonceAcked }),
    ...(subscription.sentAt === 0 ? {} : { sentTime: new Date(subscription.sentAt).toISOString() }),
    ...(subscription.error === undefined ? {} : { lastError: subscription.error.message }),
    status: syncState(subscription),
    version: subscription.versionSent,
  };
}

/** Rule objects that a refused answer may come from. */
function suspects(connection: Connection, type: XdsType, { error }: Subscription) {
  if (error === undefined) return {};
  const mayComeFrom = namesOf(refusedObjects(connection.view(), type, error.message));
  return mayComeFrom.length === 0 ? {} : { mayComeFrom };
}

/** What is not known is left out. */
function showLocality({ region, zone, subzone }: Locality) {
  const parts = { region, zone, sub_zone: subzone };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== ""));
}

function refusals({ subscriptions }: Connection): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...subscriptions].flatMap(([type, { error }]) =>
      error === undefined ? [] : [[traitsOf(type).url, error.message]],
    ),
  );
}
