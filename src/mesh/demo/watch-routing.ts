import { errorMessage } from "../../base/coded-error.ts";
import { wait } from "../../base/wait.ts";
import { createGrpcChannel, defineMethod } from "../../grpc/index.ts";
import { decodeMessage, type MessageName } from "../../protobuf/envoy/index.ts";
import type { ClusterLoadAssignment } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import type { RouteAction, RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../protobuf/wire/discovery.ts";
import { encodeStruct, type JsonObject } from "../../protobuf/wire/struct.ts";

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

const STREAM = defineMethod<"bidi", Partial<DiscoveryRequest>, DiscoveryResponse>({
  path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
  kind: "bidi",
  request: discoveryRequest,
  response: discoveryResponse,
});

const LISTENER = "envoy.config.listener.v3.Listener";
const ROUTES = "envoy.config.route.v3.RouteConfiguration";
const CLUSTER = "envoy.config.cluster.v3.Cluster";
const ENDPOINTS = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const RETRY_MS = 500;

/** Follows listener, routes, clusters and endpoints of `HOST:PORT`, as a gRPC library with xDS does; calls back with each new whole. */
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
  const call = await channel.bidi(STREAM, { signal: source.signal });
  const known = new Map<string, unknown>();
  const asked = new Map<
    string,
    { readonly names: readonly string[]; readonly version: string; readonly nonce: string }
  >();
  const ask = async (type: MessageName, names: readonly string[]) => {
    const before = asked.get(type);
    if (names.length === 0 || before?.names.join() === names.join()) return;
    asked.set(type, { names, version: before?.version ?? "", nonce: before?.nonce ?? "" });
    await send(type);
  };
  const send = async (type: string) => {
    const { names = [], version = "", nonce = "" } = asked.get(type) ?? {};
    const node = { id: source.node.id, metadata: encodeStruct(source.node.metadata) };
    await call.write({
      typeUrl: `${TYPE_PREFIX}${type}`,
      resourceNames: names,
      versionInfo: version,
      responseNonce: nonce,
      node,
    });
  };
  await ask(LISTENER, [target]);
  for await (const { typeUrl, versionInfo, nonce, resources } of call.responses) {
    const type = typeUrl.slice(TYPE_PREFIX.length);
    const names = asked.get(type)?.names ?? [];
    for (const { value = Buffer.alloc(0) } of resources) remember(known, type, Buffer.from(value));
    asked.set(type, { names, version: versionInfo, nonce });
    await send(type);
    const wanted = wantedNames(known, target);
    await ask(ROUTES, wanted.routes);
    await ask(CLUSTER, wanted.clusters);
    await ask(ENDPOINTS, wanted.clusters);
    const routing = assemble(known, wanted.routes[0]);
    if (routing !== undefined) onRouting(routing);
  }
}

function remember(known: Map<string, unknown>, type: string, bytes: Buffer): void {
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
