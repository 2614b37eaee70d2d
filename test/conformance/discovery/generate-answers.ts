import { createResourceSource } from "../../../src/envoy-config/create-resource-source.ts";
import type { XdsNode } from "../../../src/mesh-model/proxy/parse-node.ts";
import type { ProxyView } from "../../../src/mesh-model/push-snapshot.ts";
import { decodeMessage, type MessageName } from "../../../src/protobuf/envoy/index.ts";
import { any } from "../../../src/protobuf/wire/discovery.ts";
import { decodeNameTable } from "../../../src/xds/name-table.ts";
import type { ResourceSet } from "../../../src/xds/resource-source.ts";
import { viewOfCase } from "../../support/mesh-model/view-of-case.ts";
import type { GoldenCase } from "./golden-cases.ts";
import { type Json, object, objects, text } from "./json.ts";

/** What the control plane would send to the node of a case, decoded from the bytes on the wire. */
export interface Answers {
  readonly clusters: readonly Json[];
  readonly endpoints: readonly Json[];
  readonly listeners: readonly Json[];
  readonly routes: readonly Json[];
  readonly nameTable: Json | undefined;
  /** What was left out because it could not be sent. */
  readonly problems: readonly string[];
}

export function generateAnswers({ configYaml, meshYaml, node, nameTable, asked }: GoldenCase): Answers {
  return answersTo(viewOfCase(configYaml, meshYaml, node as XdsNode), { nameTable, asked });
}

/** What is sent to a proxy that sees this. */
export function answersTo(view: ProxyView, { nameTable, asked }: Pick<GoldenCase, "nameTable" | "asked">): Answers {
  const problems: string[] = [];
  const source = createResourceSource({
    onProblem: (problem) => {
      if (problem.effect === "left-out") problems.push(JSON.stringify(problem));
    },
  });
  const listenerSet = asked === undefined ? source.all(view, "LDS") : source.named(view, "LDS", asked);
  const listeners = decode(listenerSet, "envoy.config.listener.v3.Listener");
  const routes = decode(source.named(view, "RDS", routeNames(listeners)), "envoy.config.route.v3.RouteConfiguration");
  const clusterSet = asked === undefined ? source.all(view, "CDS") : source.named(view, "CDS", clusterNames(routes));
  const clusters = decode(clusterSet, "envoy.config.cluster.v3.Cluster");
  const assignments = source.named(view, "EDS", edsNames(clusters));
  return {
    clusters,
    listeners,
    endpoints: decode(assignments, "envoy.config.endpoint.v3.ClusterLoadAssignment"),
    routes,
    nameTable: nameTable === undefined ? undefined : decodedNameTable(source.all(view, "NDS")),
    problems,
  };
}

function decode(set: ResourceSet, type: MessageName): readonly Json[] {
  return set.resources.map((resource) => {
    const { typeUrl, value } = any.decode(resource.any);
    if (typeUrl !== `type.googleapis.com/${type}`) throw new Error(`${resource.name} is sent as ${typeUrl}`);
    const message: Json = decodeMessage(type, Buffer.from(value)) as Json;
    const own = text(message.name) || text(message.clusterName);
    if (own !== resource.name) throw new Error(`${own} is sent under the name ${resource.name}`);
    return message;
  });
}

export function edsNames(clusters: readonly Json[]): readonly string[] {
  return clusters
    .filter(({ type }) => type === "EDS")
    .map(({ name, edsClusterConfig }) => text(object(edsClusterConfig).serviceName) || text(name));
}

/** As gRPC finds them: where routes lead. */
function clusterNames(routes: readonly Json[]): readonly string[] {
  const actions = routes
    .flatMap(({ virtualHosts }) => objects(virtualHosts))
    .flatMap((host) => objects(host.routes))
    .map(({ route }) => object(route));
  const names = actions.flatMap(({ cluster, weightedClusters }) => [
    text(cluster),
    ...objects(object(weightedClusters).clusters).map(({ name }) => text(name)),
  ]);
  return [...new Set(names.filter((name) => name !== ""))];
}

/** As Envoy finds them: in the HTTP managers of all chains. */
export function routeNames(listeners: readonly Json[]): readonly string[] {
  const chains = listeners.flatMap((listener) => [
    ...objects(listener.filterChains),
    object(listener.defaultFilterChain),
  ]);
  const managers = [
    ...chains.flatMap(({ filters }) => objects(filters)).map(({ typedConfig }) => object(typedConfig)),
    ...listeners.map(({ apiListener }) => object(object(apiListener).apiListener)),
  ];
  const names = managers.map(({ rds }) => text(object(rds).routeConfigName)).filter((name) => name !== "");
  return [...new Set(names)];
}

/** Members without content are absent in the golden tables. */
function decodedNameTable(set: ResourceSet): Json | undefined {
  const [resource] = set.resources;
  return resource && nameTableOf(any.decode(resource.any).value);
}

export function nameTableOf(bytes: Uint8Array): Json {
  const { table } = decodeNameTable(bytes);
  return {
    table: Object.fromEntries(
      Object.entries(table).map(([name, entry]) => [
        name,
        Object.fromEntries(Object.entries(entry).filter(([, value]) => value.length > 0)),
      ]),
    ),
  };
}
