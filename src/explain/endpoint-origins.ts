import { assignedEndpoints } from "../envoy-config/index.ts";
import { describeEndpoints } from "../mesh-model/create-push-snapshot.ts";
import type { Endpoint } from "../mesh-model/endpoint.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import { objectOf } from "../mesh-model/service.ts";
import type { DescribedEndpoint, EndpointObject } from "../mesh-model/service-registry.ts";
import type { Origin } from "../simulate/index.ts";

/** The objects that endpoints of clusters come from. Worked out when it is asked, once for each cluster: nothing is held for it. */
export function endpointOrigins(
  view: ProxyView,
): (cluster: string, address: string, port: number) => readonly Origin[] {
  const known = new Map<string, ReadonlyMap<string, readonly EndpointObject[]>>();
  return (cluster, address, port) => {
    let places = known.get(cluster);
    if (places === undefined) {
      places = objectsByPlace(view, cluster);
      known.set(cluster, places);
    }
    return (places.get(`${address} ${port}`) ?? []).map(toOrigin);
  };
}

/** Of those that the cluster can have: other ports and other subsets may be at the same addresses. */
function objectsByPlace(view: ProxyView, cluster: string): ReadonlyMap<string, readonly EndpointObject[]> {
  const { service, endpoints = [] } = assignedEndpoints(view.outbound, cluster) ?? {};
  if (service === undefined) return new Map();
  const described = new Map<string, EndpointObject[]>();
  for (const one of describeEndpoints(view.snapshot, service.key)) add(described, keyOf(one.endpoint), one.objects);
  const found = new Map<string, EndpointObject[]>();
  for (const endpoint of endpoints) {
    const objects = described.get(keyOf(endpoint)) ?? [];
    for (const address of endpoint.addresses) add(found, placeOf(address, endpoint.port), objects);
    for (const place of gatewaysTo(view, endpoint)) add(found, place.key, [...place.objects, ...behind(objects)]);
  }
  return found;
}

/** Endpoints of other networks are called through gateways. */
function gatewaysTo({ snapshot }: ProxyView, { network, clusterId }: Endpoint) {
  return snapshot.networks.leadingTo(network, clusterId).map(({ address, port, clusterId: of }) => ({
    key: placeOf(address, port),
    objects: snapshot.services
      .filter(({ externalAddresses: all = [], clusterId: own }) => all.includes(address) && (of === "" || of === own))
      .map((service) => ({ ...objectOf(service), cluster: service.clusterId })),
  }));
}

/** What is behind a gateway is named as lists: it may be thousands. */
function behind(objects: readonly EndpointObject[]): readonly EndpointObject[] {
  return objects.filter(({ kind }) => kind !== "Pod" && kind !== "Node");
}

function keyOf({ addresses, servicePortName, port }: DescribedEndpoint["endpoint"]): string {
  return `${addresses.join(",")} ${servicePortName} ${port}`;
}

/** As proxies are sent it: `unix://` is not part of a path. */
function placeOf(address: string, port: number): string {
  return `${address.replace(/^unix:\/\//, "")} ${port}`;
}

function add(places: Map<string, EndpointObject[]>, place: string, objects: readonly EndpointObject[]): void {
  const there = places.get(place) ?? [];
  places.set(place, there);
  for (const object of objects) if (!there.some(isSame(object))) there.push(object);
}

function isSame(a: EndpointObject) {
  return (b: EndpointObject) =>
    a.kind === b.kind &&
    a.namespace === b.namespace &&
    a.name === b.name &&
    a.cluster === b.cluster &&
    a.path?.join() === b.path?.join();
}

function toOrigin({ kind, namespace, name, cluster, path, overruledBy }: EndpointObject): Origin {
  return {
    kind,
    namespace,
    name,
    ...(path && { path }),
    ...(cluster !== undefined && { cluster }),
    ...(overruledBy && { overruledBy: `${overruledBy.kind} ${overruledBy.namespace}/${overruledBy.name}` }),
  };
}
