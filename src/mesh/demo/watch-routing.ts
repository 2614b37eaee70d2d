import { errorMessage } from "../../base/coded-error.ts";
import { wait } from "../../base/wait.ts";
import { createGrpcChannel } from "../../grpc/index.ts";
import { decodeMessage, type MessageName } from "../../protobuf/envoy/index.ts";
import type { ClusterLoadAssignment } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import type { RouteAction, RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";
import { openXdsClient } from "../../xds/client.ts";

/** Where calls to one service go now. */
export interface Routing {
  readonly clusters: readonly RoutedCluster[];
}

export interface RoutedCluster {
  readonly weight: number;
  readonly endpoints: readonly string[];
  /** Identities that its servers may have; undefined without mutual TLS. */
  readonly peerNames: readonly string[] | undefined;
}

export interface RoutingSource {
  /** The agent's socket, as a gRPC target. */
  readonly agent: string;
  /** Of the gRPC bootstrap file that the agent writes. */
  readonly node: { readonly id: string; readonly metadata: JsonObject };
  readonly signal: AbortSignal;
  onProblem(text: string): void;
}

const LISTENER = "envoy.config.listener.v3.Listener";
const ROUTES = "envoy.config.route.v3.RouteConfiguration";
const CLUSTER = "envoy.config.cluster.v3.Cluster";
const ENDPOINTS = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const RETRY_MS = 500;

/** Follows listener, routes, clusters and endpoints of `HOST:PORT`, as a gRPC library with xDS does; calls back with each complete routing. */
export async function watchRouting(
  target: string,
  source: RoutingSource,
  onRouting: (routing: Routing) => void,
): Promise<void> {
  while (!source.signal.aborted) {
    await followStream(target, source, onRouting).catch((thrown: unknown) => {
      if (!source.signal.aborted) source.onProblem(errorMessage(thrown));
    });
    await wait(RETRY_MS, source.signal);
  }
}

async function followStream(
  target: string,
  source: RoutingSource,
  onRouting: (routing: Routing) => void,
): Promise<void> {
  await using channel = createGrpcChannel(source.agent);
  const client = await openXdsClient(channel, source.node, source.signal);
  const known = new Map<string, unknown>();
  const subscribe = async (type: MessageName, names: readonly string[]) => {
    if (names.length > 0) await client.subscribe(TYPE_PREFIX + type, names);
  };
  await subscribe(LISTENER, [target]);
  for await (const response of client.responses) {
    const type = response.typeUrl.slice(TYPE_PREFIX.length);
    for (const { value = Buffer.alloc(0) } of response.resources) store(known, type, Buffer.from(value));
    await client.ack(response);
    const wanted = wantedNames(known, target);
    await subscribe(ROUTES, wanted.routes);
    await subscribe(CLUSTER, wanted.clusters);
    await subscribe(ENDPOINTS, wanted.clusters);
    const routing = assemble(known, wanted.routes[0]);
    if (routing !== undefined) onRouting(routing);
  }
}

function store(known: Map<string, unknown>, type: string, bytes: Buffer): void {
  // One of the four types that were asked for; this is where bytes become values.
  const value = decodeMessage(type as MessageName, bytes) as { readonly name?: string; readonly clusterName?: string };
  known.set(`${type} ${value.name ?? value.clusterName}`, value);
}

function wantedNames(known: ReadonlyMap<string, unknown>, target: string) {
  const listener = known.get(`${LISTENER} ${target}`) as
    | { apiListener?: { apiListener?: { rds?: { routeConfigName?: string } } } }
    | undefined;
  const route = listener?.apiListener?.apiListener?.rds?.routeConfigName;
  return { routes: route === undefined ? [] : [route], clusters: weights(known, route).map(([name]) => name) };
}

/** Clusters of the first route: a demo has one. */
function weights(
  known: ReadonlyMap<string, unknown>,
  route: string | undefined,
): readonly (readonly [string, number])[] {
  const found = known.get(`${ROUTES} ${route}`) as RouteConfiguration | undefined;
  const action: RouteAction | undefined = found?.virtualHosts?.[0]?.routes?.[0]?.route;
  if (action?.cluster !== undefined) return [[action.cluster, 1]];
  return (action?.weightedClusters?.clusters ?? []).map(({ name = "", weight = 0 }) => [name, weight] as const);
}

/** Undefined while a part is missing. */
function assemble(known: ReadonlyMap<string, unknown>, route: string | undefined): Routing | undefined {
  const clusters = weights(known, route).map(([name, weight]): RoutedCluster | undefined => {
    const cluster = known.get(`${CLUSTER} ${name}`);
    const assignment = known.get(`${ENDPOINTS} ${name}`) as ClusterLoadAssignment | undefined;
    if (cluster === undefined || assignment === undefined) return undefined;
    const addresses = (assignment.endpoints ?? []).flatMap(({ lbEndpoints = [] }) =>
      lbEndpoints.flatMap(({ endpoint }) => endpoint?.address?.socketAddress ?? []),
    );
    return {
      weight,
      endpoints: addresses.map(({ address, portValue }) => `${address}:${portValue}`),
      peerNames: peerNames(cluster),
    };
  });
  return clusters.length > 0 && clusters.every((cluster) => cluster !== undefined) ? { clusters } : undefined;
}

interface TlsCluster {
  readonly transportSocket?: {
    readonly typedConfig?: {
      readonly commonTlsContext?: {
        readonly combinedValidationContext?: {
          readonly defaultValidationContext?: {
            readonly matchSubjectAltNames?: readonly { readonly exact?: string }[];
          };
        };
      };
    };
  };
}

function peerNames(cluster: unknown): readonly string[] | undefined {
  const { transportSocket } = cluster as TlsCluster;
  const tls = transportSocket?.typedConfig?.commonTlsContext;
  return (
    tls &&
    (tls.combinedValidationContext?.defaultValidationContext?.matchSubjectAltNames ?? []).map(({ exact = "" }) => exact)
  );
}
