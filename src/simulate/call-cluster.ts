import { isIP } from "../net/ip.ts";
import type { Cluster } from "../protobuf/gen/envoy/config/cluster/v3.ts";
import type { Connection } from "./connection/connection.ts";
import { gatewayListener, inboundListener } from "./connection/listener.ts";
import { type Branch, follow, type Outcome, only } from "./decision.ts";
import { decide, type Place } from "./mesh.ts";
import { passConnection } from "./pass-connection.ts";
import { ending, type Forward, type Passage } from "./passage.ts";
import { type ChosenEndpoint, chooseEndpoints } from "./upstream/endpoints.ts";
import { expectedNames, tlsTo, upstreamSpeech } from "./upstream/transport.ts";

/** More endpoints than these are alike as a rule, and each needs the configuration of its proxy. */
const MAX_ENDPOINTS = 16;

/** From a client's proxy to the endpoints of a cluster, and through the proxies in front of them. */
export function callCluster(place: Place, connection: Connection, passage: Passage): readonly Branch<Outcome>[] {
  if ("ends" in passage) return only(passage.ends);
  const { goesTo } = passage;
  const { resources } = place.proxy;
  const cluster = resources.clusters.get(goesTo.cluster);
  if (cluster === undefined) {
    return fails(
      place,
      goesTo,
      "no-cluster",
      `cluster ${goesTo.cluster} does not exist`,
      goesTo.missingStatus ?? 503,
      "NC",
    );
  }
  if (cluster.type === "ORIGINAL_DST") return callOriginal(place, connection, goesTo, cluster);
  if (cluster.clusterType !== undefined) {
    const text = `${goesTo.cluster}: the name of the request is looked up and called`;
    const outcome = ending("passthrough", text, { flags: goesTo.flags, cluster: goesTo.cluster }).ends;
    return only(outcome, decide(place, "cluster", text, { kind: "cluster", name: goesTo.cluster }));
  }
  const assignment =
    cluster.type === "EDS"
      ? resources.endpoints.get(cluster.edsClusterConfig?.serviceName || goesTo.cluster)
      : cluster.loadAssignment;
  const chosen = chooseEndpoints(cluster, assignment);
  if (chosen.length === 0) {
    const all = (assignment?.endpoints ?? []).flatMap(({ lbEndpoints = [] }) => lbEndpoints).length;
    const text = `cluster ${goesTo.cluster} has ${all === 0 ? "no endpoints" : `no healthy endpoint among ${all}`}`;
    return fails(place, goesTo, "no-endpoints", text, 503, "UH");
  }
  const walked = chosen.slice(0, MAX_ENDPOINTS);
  const whole = walked.reduce((sum, { share }) => sum + share, 0);
  const text = describeChoice(goesTo.cluster, cluster, chosen);
  const found = decide(place, "cluster", text, { kind: "cluster", name: goesTo.cluster });
  return follow(only(undefined, found), () =>
    walked.flatMap((one) =>
      callEndpoint(place, goesTo, cluster, one).map((branch) => ({
        ...branch,
        share: (branch.share * one.share) / whole,
      })),
    ),
  );
}

function fails(
  place: Place,
  { flags, cluster, missingStatus }: Forward,
  kind: Outcome["kind"],
  text: string,
  status: number,
  flag: string,
) {
  const answered = missingStatus === undefined ? {} : { status };
  const outcome = ending(kind, text, { ...answered, flags: [...flags, flag], cluster }).ends;
  return only(outcome, decide(place, "cluster", text, { kind: "cluster", name: cluster }));
}

function describeChoice(name: string, { type }: Cluster, chosen: readonly ChosenEndpoint[]): string {
  const levels = [...new Set(chosen.map(({ priority }) => priority))];
  const priority = levels.length === 1 && levels[0] === 0 ? "" : ` of priority ${levels.join(", ")}`;
  const names = type === "STRICT_DNS" || type === "LOGICAL_DNS" ? ", whose names are looked up" : "";
  const most = chosen.length > MAX_ENDPOINTS ? `, of which ${MAX_ENDPOINTS} are walked through` : "";
  return `${name}: ${chosen.length} ${chosen.length === 1 ? "endpoint" : "endpoints"}${priority}${names}${most}`;
}

function callOriginal(
  place: Place,
  { destination }: Connection,
  goesTo: Forward,
  cluster: Cluster,
): readonly Branch<Outcome>[] {
  const { address, port } = destination;
  const name = goesTo.cluster;
  const found = decide(
    place,
    "cluster",
    `${name}: on to the address that was called, ${address ?? "which is not known here"}`,
    {
      kind: "cluster",
      name,
    },
  );
  if (address !== undefined && place.mesh.proxyAt(address) !== undefined) {
    const endpoint = { endpoint: {}, address, port, share: 1, priority: 0 };
    return follow(only(undefined, found), () => callEndpoint(place, goesTo, cluster, endpoint));
  }
  const endpoints = [`${address ?? "?"}:${port}`];
  const text = `passes through to ${endpoints[0]}`;
  return only(ending("passthrough", text, { endpoints, flags: goesTo.flags, cluster: name }).ends, found);
}

function callEndpoint(
  place: Place,
  goesTo: Forward,
  cluster: Cluster,
  { endpoint, address, port }: ChosenEndpoint,
): readonly Branch<Outcome>[] {
  const { proxy, mesh } = place;
  const speaks = upstreamSpeech(cluster, goesTo.speaks);
  const own = tlsTo(cluster, endpoint, proxy.identity, speaks);
  const where = port === 0 ? address : `${address}:${port}`;
  const text = `${where}, ${describeTls(own, expectedNames(cluster, endpoint))}`;
  const connects = decide(place, "endpoint", text, { kind: "endpoint", cluster: goesTo.cluster, address, port });
  const server = isIP(address) === 0 ? undefined : mesh.proxyAt(address);
  if (server === undefined) {
    const text = `arrives at ${where}, where no proxy of the mesh is`;
    return only(
      ending("endpoint", text, { flags: goesTo.flags, cluster: goesTo.cluster, endpoints: [where] }).ends,
      connects,
    );
  }
  const tls = own ?? goesTo.tls;
  const connection: Connection = {
    destination: { address, port },
    sourceAddress: proxy.addresses[0],
    // TLS of the application inside of the proxy's is bytes to everybody.
    speaks: own !== undefined && goesTo.tls !== undefined ? "bytes" : speaks,
    ...(tls && { tls }),
  };
  return follow(only(undefined, connects), () =>
    arrive({ proxy: server, mesh }, connection, goesTo, own !== undefined),
  );
}

function describeTls(tls: Connection["tls"], names: readonly string[]): string {
  if (tls === undefined) return "without TLS of the proxy";
  const kind = tls.identity === undefined ? "with TLS" : "with mutual TLS";
  const server = tls.serverName === undefined ? "" : `, server name ${tls.serverName}`;
  return `${kind}${server}${names.length > 0 ? `, the server must be ${names.join(" or ")}` : ""}`;
}

/** At the proxy of the server. */
function arrive(
  place: Place,
  connection: Connection,
  client: Forward,
  isProxyTls: boolean,
): readonly Branch<Outcome>[] {
  const { proxy } = place;
  const { address, port } = connection.destination;
  const { listeners } = proxy.resources;
  const listener =
    proxy.type === "router" ? gatewayListener(listeners, connection) : inboundListener(listeners, connection);
  if (listener === undefined) {
    const text = `the proxy of ${proxy.name} does not take the connection: it goes to the application`;
    const base = { flags: client.flags, cluster: client.cluster, endpoints: [`${address}:${port}`] };
    return only(
      ending("endpoint", `arrives at ${address}:${port} of ${proxy.name}`, base).ends,
      decide(place, "listener", text),
    );
  }
  const found = decide(place, "listener", `${listener.name} takes the connection to ${address}:${port}`, {
    kind: "listener",
    name: listener.name ?? "",
  });
  return follow(only(undefined, found), () =>
    follow(passConnection(place, listener, connection, client.request), (passage) => {
      if ("ends" in passage) return only(seenByClient(passage.ends, connection, client));
      return callApplication(place, connection, client, { server: passage.goesTo, isProxyTls });
    }),
  );
}

/** What the client's proxy makes of how it ended at the server's. */
function seenByClient(outcome: Outcome, { tls }: Connection, client: Forward): Outcome {
  const { cluster } = client;
  if (client.missingStatus === undefined) return { ...outcome, cluster };
  if (outcome.status !== undefined) return { ...outcome, flags: client.flags, cluster };
  // A handshake fails before the proxy takes itself for connected; a plaintext connection is cut off behind the request.
  const isHandshake = tls !== undefined && outcome.kind !== "denied";
  const flags = isHandshake ? ["UF", ...(client.retriesConnecting ? ["URX"] : [])] : ["UC"];
  return { ...outcome, status: 503, flags: [...client.flags, ...flags], cluster };
}

interface Calls {
  readonly server: Forward;
  readonly isProxyTls: boolean;
}

function callApplication(
  place: Place,
  connection: Connection,
  client: Forward,
  { server, isProxyTls }: Calls,
): readonly Branch<Outcome>[] {
  const { address, port } = connection.destination;
  const cluster = place.proxy.resources.clusters.get(server.cluster);
  const about = { kind: "cluster" as const, name: server.cluster };
  const isOriginal = cluster?.type === "ORIGINAL_DST";
  const [own] = cluster === undefined || isOriginal ? [] : chooseEndpoints(cluster, cluster.loadAssignment);
  if (!isOriginal && own === undefined) {
    const text = cluster === undefined ? `cluster ${server.cluster} does not exist` : `${server.cluster} leads nowhere`;
    const status = server.missingStatus === undefined ? {} : { status: 503 };
    return only(
      seenByClient(ending("no-endpoints", text, status).ends, connection, client),
      decide(place, "cluster", text, about),
    );
  }
  const local = own === undefined ? `${address}:${port}` : own.port === 0 ? own.address : `${own.address}:${own.port}`;
  const reached = decide(place, "cluster", `${server.cluster}: the application at ${local}`, about);
  if (isProxyTls && server.tls !== undefined) {
    const text = "the application itself gets the TLS of the client's proxy, which it does not speak";
    return only(
      seenByClient(ending("connection-failed", text).ends, connection, client),
      reached,
      decide(place, "tls", text),
    );
  }
  const endpoints = [`${address}:${port}`];
  const text = `arrives at ${local} of ${place.proxy.name}`;
  return only(ending("endpoint", text, { flags: client.flags, cluster: client.cluster, endpoints }).ends, reached);
}
