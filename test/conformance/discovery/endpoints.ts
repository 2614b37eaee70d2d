import { type Difference, resourceDifferences } from "./difference.ts";
import { asSet, canonical, type Json, normalized, object, objects, text } from "./json.ts";

/** Differences between two EDS answers that are not accepted. */
export function compareEndpoints(golden: readonly Json[], ours: readonly Json[]): readonly Difference[] {
  return resourceDifferences({
    kind: "endpoints",
    golden: normalized(golden),
    ours: normalized(ours),
    name: ({ clusterName }) => text(clusterName),
    project: ({ endpoints }) => projectLocalities(endpoints),
  });
}

/** Localities with members, by place and priority: weight and the set of endpoints. */
export function projectLocalities(localities: unknown): Json {
  return Object.fromEntries(
    objects(localities)
      .filter(({ lbEndpoints }) => objects(lbEndpoints).length > 0)
      .map((locality) => [localityKey(locality), projectLocality(locality)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function localityKey({ locality, priority }: Json): string {
  const { region, zone, subZone } = object(locality);
  return `${text(region)}/${text(zone)}/${text(subZone)} priority ${Number(priority ?? 0)}`;
}

/** The reference repeats the endpoints of an entry with several addresses; the weight of the locality is then a multiple. */
function projectLocality({ lbEndpoints, loadBalancingWeight }: Json): Json {
  const endpoints = objects(lbEndpoints).map(projectEndpoint);
  const distinct = new Map(endpoints.map((endpoint) => [canonical(endpoint), endpoint]));
  const repeats = endpoints.length / distinct.size;
  return { weight: Number(loadBalancingWeight ?? 1) / repeats, endpoints: asSet([...distinct.values()]) };
}

function projectEndpoint({ endpoint, loadBalancingWeight, healthStatus, metadata, ...rest }: Json): Json {
  const { address, ...more } = object(endpoint);
  const { socketAddress, pipe, ...other } = object(address);
  const socket = object(socketAddress);
  const match = object(object(metadata).filterMetadata)["envoy.transport_socket_match"];
  return {
    ...rest,
    ...more,
    ...other,
    address: pipe === undefined ? `${text(socket.address)}:${Number(socket.portValue ?? 0)}` : text(object(pipe).path),
    weight: Number(loadBalancingWeight ?? 1),
    // Endpoints of the cases have no known health; saying HEALTHY means the same to Envoy.
    health: healthStatus === undefined || healthStatus === "HEALTHY" ? "UNKNOWN" : healthStatus,
    tlsMode: text(object(match).tlsMode),
  };
}
