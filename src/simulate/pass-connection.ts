import { messageIn, typeNameIn } from "../protobuf/envoy/message-in.ts";
import type { Filter, FilterChain, Listener } from "../protobuf/gen/envoy/config/listener/v3.ts";
import type { TcpProxy } from "../protobuf/gen/envoy/extensions/filters/network/tcp_proxy/v3.ts";
import type { Connection, HttpRequest } from "./connection/connection.ts";
import { chooseFilterChain, inspect } from "./connection/filter-chain.ts";
import { type Branch, follow, only } from "./decision.ts";
import { judge, percent } from "./http/filters.ts";
import { passManager } from "./http/manager.ts";
import { decide, type Place } from "./mesh.ts";
import { ending, type Passage } from "./passage.ts";
import { serverTls } from "./upstream/transport.ts";

/** What a listener does with a connection, and with the request on it where it looks at requests. */
export function passConnection(
  place: Place,
  listener: Listener,
  connection: Connection,
  request: HttpRequest | undefined,
): readonly Branch<Passage>[] {
  const chain = chooseFilterChain(listener, connection);
  const seen = describe(listener, connection);
  const subject = { kind: "peer-authentication" as const, port: connection.destination.port };
  if (chain === undefined) {
    const text = `no chain of ${listener.name} takes ${seen}: the connection is closed`;
    const isPlain = connection.tls === undefined;
    const why = isPlain && listener.trafficDirection === "INBOUND" ? ", as mutual TLS is required" : "";
    return only(ending("connection-closed", `${text}${why}`), decide(place, "filter chain", `${text}${why}`, subject));
  }
  const isDefault = chain === listener.defaultFilterChain;
  const text = `${isDefault ? "the default chain" : (chain.name ?? "a chain without name")} of ${listener.name}, for ${seen}`;
  const taken = decide(
    place,
    "filter chain",
    text,
    ...(listener.trafficDirection === "INBOUND"
      ? [{ kind: "inbound-port" as const, port: connection.destination.port }]
      : []),
  );
  return follow(only(undefined, taken), () => afterHandshake(place, chain, connection, request));
}

/** In words: `plaintext HTTP`, `TLS for web.example (istio)`. */
function describe(listener: Listener, connection: Connection): string {
  const { transport, protocols, serverName } = inspect(listener, connection);
  if (transport !== "tls") {
    if (connection.tls !== undefined) return "bytes that nobody looks at";
    const words = { http1: "HTTP/1.1", http2: "HTTP/2", bytes: "bytes", silence: "a client that waits" }[
      connection.speaks
    ];
    return `plaintext (${words})`;
  }
  const name = serverName === undefined || serverName === "" ? "without server name" : `for ${serverName}`;
  return `TLS ${name}${protocols.length > 0 ? ` (${protocols.join(", ")})` : ""}`;
}

function afterHandshake(
  place: Place,
  chain: FilterChain,
  connection: Connection,
  request: HttpRequest | undefined,
): readonly Branch<Passage>[] {
  const asked = serverTls(chain.transportSocket);
  const { tls } = connection;
  const subject = { kind: "peer-authentication" as const, port: connection.destination.port };
  if (asked === undefined) {
    // What is inside of TLS that is not ended here cannot be seen.
    const inside = tls === undefined ? { request } : { request: undefined, tls };
    return throughNetworkFilters(place, chain.filters ?? [], { connection, identity: undefined, ...inside });
  }
  const refusal = tls === undefined ? "the client speaks no TLS" : handshakeProblem(place, asked, tls);
  if (refusal !== undefined) {
    return only(
      ending("connection-failed", `TLS fails: ${refusal}`),
      decide(place, "tls", `the handshake fails: ${refusal}`, subject),
    );
  }
  const who =
    tls?.identity === undefined ? "TLS, the client has no certificate" : `mutual TLS, the client is ${tls.identity}`;
  return follow(only(undefined, decide(place, "tls", who, subject)), () =>
    throughNetworkFilters(place, chain.filters ?? [], { connection, identity: tls?.identity, request }),
  );
}

function handshakeProblem(
  { proxy }: Place,
  { needsCertificate, accepts }: NonNullable<ReturnType<typeof serverTls>>,
  tls: NonNullable<Connection["tls"]>,
): string | undefined {
  if (tls.accepts !== undefined && !tls.accepts(proxy.identity))
    return `the client does not take ${proxy.identity} for its server`;
  if (tls.identity === undefined) return needsCertificate ? "the client has no certificate" : undefined;
  return accepts(tls.identity) ? undefined : `${tls.identity} is not taken as a client`;
}

interface Arrived {
  readonly connection: Connection;
  readonly identity: string | undefined;
  readonly request: HttpRequest | undefined;
  readonly tls?: Connection["tls"];
}

function throughNetworkFilters(place: Place, filters: readonly Filter[], arrived: Arrived): readonly Branch<Passage>[] {
  const [filter, ...rest] = filters;
  const closed = ending("connection-closed", "no filter takes the connection");
  if (filter === undefined) return only(closed, decide(place, "filter chain", "no filter takes the connection"));
  const { connection, identity, request } = arrived;
  const config = filter.typedConfig;
  const kind = typeNameIn(config);
  switch (kind) {
    case "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager": {
      if (request === undefined) {
        const text = "the proxy expects HTTP and gets something else";
        return only(ending("rejected", text, { flags: ["DPE"] }), decide(place, "http", text));
      }
      return passManager(place, messageIn(config, kind) ?? {}, { connection, identity, request });
    }
    case "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy":
      return passTcp(place, messageIn(config, kind) ?? {}, arrived);
    case "envoy.extensions.filters.network.rbac.v3.RBAC": {
      const access = { connection, identity, headers: {}, metadata: {} };
      const { allowed, reason, decisions } = judge(place, messageIn(config, kind) ?? {}, access);
      if (!allowed)
        return only(ending("denied", `the connection is closed by ${place.proxy.name}: ${reason}`), ...decisions);
      return follow(only(undefined, ...decisions), () => throughNetworkFilters(place, rest, arrived));
    }
    default: {
      const named = decide(place, "filter", `${filter.name} is not simulated: it may end the connection`);
      return follow(only(undefined, named), () => throughNetworkFilters(place, rest, arrived));
    }
  }
}

function passTcp(
  place: Place,
  { cluster, weightedClusters }: TcpProxy,
  { connection, request, tls }: Arrived,
): readonly Branch<Passage>[] {
  const carried = { ...(request && { request }), ...(tls && { tls }) };
  const to = (name: string): Passage => ({
    goesTo: { cluster: name, speaks: connection.speaks, ...carried, flags: [], retriesConnecting: false },
  });
  if (weightedClusters === undefined) return only(to(cluster ?? ""));
  const clusters = weightedClusters.clusters ?? [];
  const total = clusters.reduce((sum, { weight = 0 }) => sum + weight, 0);
  return clusters.map(({ name = "", weight = 0 }) => {
    const share = weight / total;
    return {
      share,
      decisions: [decide(place, "weight", `${percent(share)} of the connections go to ${name}`)],
      value: to(name),
    };
  });
}
