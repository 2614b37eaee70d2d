import { TOPOLOGY } from "../../../istio-api/values/topology-labels.ts";
import type { Endpoint, EndpointHealth } from "../../../mesh-model/endpoint.ts";
import { selects } from "../../../mesh-model/selector.ts";
import { hasSessions } from "../../../mesh-model/service.ts";
import { toEndpoint, type Workload } from "../convert-workload.ts";
import type { PlacedPod, PodOrigin } from "./convert-pod.ts";
import type { ReducedService, ReducedServicePort } from "./reduce-service.ts";
import type { EndpointCondition, ReducedEndpoint, ReducedSlice } from "./reduce-slice.ts";

/** Where endpoints find the pods behind them. */
export interface PodLookup {
  named(key: string): PlacedPod | undefined;
  /** Pods that are up, in the namespace; the first by name where several share the address of their node. */
  at(address: string, namespace: string): PlacedPod | undefined;
}

/** The endpoints of one slice. One whose pod is not known yet is left out until the pod is: without it nothing says who it is. */
export function convertSlice(
  slice: ReducedSlice,
  service: ReducedService,
  pods: PodLookup,
  origin: PodOrigin,
): readonly Endpoint[] {
  return slice.endpoints.flatMap((endpoint) => {
    const health = healthOf(endpoint.condition, service);
    return endpoint.addresses.flatMap((address) => {
      const found = findPod(address, endpoint, slice, pods);
      if (found === undefined && endpoint.pod !== undefined) return [];
      const addresses = addressesOf(address, found, endpoint, slice, service);
      if (addresses.length === 0) return [];
      const base = found?.endpoint ?? strangerAt(address, slice, origin);
      return slice.ports.map(({ name, port }) =>
        Object.freeze({ ...base, addresses, servicePortName: name, port, health }),
      );
    });
  });
}

export function findPod(
  address: string,
  { pod }: ReducedEndpoint,
  { namespace }: ReducedSlice,
  pods: PodLookup,
): PlacedPod | undefined {
  return pod === undefined ? pods.at(address, namespace) : pods.named(pod);
}

/** A pod and a service with two families have a slice for each; the endpoint is one, with both addresses. */
function addressesOf(
  address: string,
  found: PlacedPod | undefined,
  endpoint: ReducedEndpoint,
  { isIpv6 }: ReducedSlice,
  { clusterIps }: ReducedService,
): readonly string[] {
  const hasBoth = endpoint.pod !== undefined && found !== undefined && found.pod.addresses.length > 1;
  if (!hasBoth || clusterIps.length < 2) return Object.freeze([address]);
  return isIpv6 ? [] : found.pod.addresses;
}

/** Something that Kubernetes does not run: it has an address, and no identity. */
function strangerAt(address: string, { namespace }: ReducedSlice, { clusterId, networkOf }: PodOrigin): Endpoint {
  const network = networkOf(address);
  return {
    addresses: [],
    servicePortName: "",
    port: 0,
    labels: Object.freeze({ ...(network !== "" && { [TOPOLOGY.network]: network }), [TOPOLOGY.cluster]: clusterId }),
    serviceAccount: "",
    network,
    locality: Object.freeze({ region: "", zone: "", subzone: "" }),
    clusterId,
    weight: 0,
    tlsMode: "disabled",
    namespace,
    workloadName: "",
    health: "Healthy",
  };
}

function healthOf(condition: EndpointCondition, service: ReducedService): EndpointHealth {
  if (condition === "ready") return "Healthy";
  if (condition === "unready") return "UnHealthy";
  return condition === "draining" && hasSessions(service) ? "Draining" : "Terminating";
}

const RANK: Readonly<Record<EndpointHealth, number>> = {
  Healthy: 0,
  Unknown: 1,
  UnHealthy: 2,
  Draining: 3,
  Terminating: 4,
};

/** An endpoint that moves from one slice to another is in both for a while. The healthier of the two counts, then the first. */
export function withoutRepeated(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const byPlace = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    const place = `${endpoint.addresses[0]} ${endpoint.servicePortName}`;
    const known = byPlace.get(place);
    if (known === undefined || RANK[endpoint.health] < RANK[known.health]) byPlace.set(place, endpoint);
  }
  return byPlace.size === endpoints.length ? endpoints : [...byPlace.values()];
}

/** Endpoints of the WorkloadEntries that the service selects besides pods. */
export function convertWorkloads(
  service: ReducedService,
  workloads: readonly Workload[],
  origin: PodOrigin,
): readonly Endpoint[] {
  const { selector } = service;
  if (service.isHeadless || service.externalName !== "" || Object.keys(selector).length === 0) return [];
  const selected = workloads.filter(({ labels }) => selects(selector, labels));
  return selected.flatMap((workload) => service.ports.flatMap((port) => workloadEndpoint(workload, port, origin)));
}

/** A port of the service at a WorkloadEntry: what the entry says about the port's name, else the number that the service says. */
function workloadEndpoint(workload: Workload, port: ReducedServicePort, origin: PodOrigin): readonly Endpoint[] {
  const number = workloadPort(workload, port);
  if (number === undefined) return [];
  const described = { name: port.name, number, protocol: "", targetPort: number };
  return [Object.freeze({ ...toEndpoint(workload, described, origin), port: number })];
}

/** Undefined where the service names a port that the entry does not have. */
export function workloadPort({ entry: { ports } }: Workload, { name, target }: ReducedServicePort): number | undefined {
  const asked = typeof target === "string" ? target : name;
  const own = Object.hasOwn(ports, asked) ? ports[asked] : undefined;
  return own ?? (typeof target === "string" ? undefined : target);
}
