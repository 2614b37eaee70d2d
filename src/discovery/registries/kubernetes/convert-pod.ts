import { NODE_LABEL, TOPOLOGY } from "../../../istio-api/values/topology-labels.ts";
import { type Endpoint, TLS_MODE_LABEL } from "../../../mesh-model/endpoint.ts";
import { formatLocality, type Locality, labelledLocality, parseLocality } from "../../../mesh-model/locality.ts";
import { formatSpiffe } from "../../../mesh-model/workload-identity.ts";
import type { EndpointOrigin, Workload } from "../convert-workload.ts";
import type { ReducedNode } from "./reduce-object.ts";
import type { ReducedPod } from "./reduce-pod.ts";

/** What the registry adds to what objects say. */
export type PodOrigin = Required<EndpointOrigin>;

const NOWHERE: Locality = Object.freeze({ region: "", zone: "", subzone: "" });

/** A pod together with where it runs; what endpoints of all its services have in common. */
export interface PlacedPod {
  readonly pod: ReducedPod;
  /** Of the pod's endpoint on port 0. */
  readonly endpoint: Endpoint;
}

export function placePod(pod: ReducedPod, node: ReducedNode | undefined, origin: PodOrigin): PlacedPod {
  const { namespace, serviceAccount, hostName, subDomain, nodeName } = pod;
  const own = labelledLocality(pod.labels);
  const locality = own === "" ? (node?.locality ?? NOWHERE) : parseLocality(own);
  const network = pod.labels[TOPOLOGY.network] || origin.networkOf(pod.addresses[0] ?? "");
  const endpoint: Endpoint = {
    addresses: pod.addresses,
    servicePortName: "",
    port: 0,
    labels: Object.freeze(withTopology(pod, locality, network, origin)),
    serviceAccount: formatSpiffe({ trustDomain: origin.trustDomain, namespace, serviceAccount }),
    network,
    locality: Object.freeze(locality),
    clusterId: origin.clusterId,
    weight: 0,
    tlsMode: pod.labels[TLS_MODE_LABEL] === "istio" ? "istio" : "disabled",
    namespace,
    workloadName: pod.workloadName,
    ...(subDomain !== "" && { hostName, subDomain }),
    ...(nodeName !== "" && { nodeName }),
    health: "Healthy",
  };
  return { pod, endpoint };
}

/** Rules choose endpoints by where they are, so that it is among their labels. */
function withTopology({ labels, nodeName }: ReducedPod, locality: Locality, network: string, origin: PodOrigin) {
  const { region, zone, subzone } = locality;
  return {
    ...labels,
    ...(region !== "" && { [TOPOLOGY.region]: region }),
    ...(zone !== "" && { [TOPOLOGY.zone]: zone }),
    ...(subzone !== "" && { [TOPOLOGY.subzone]: subzone }),
    ...(nodeName !== "" && { [NODE_LABEL]: nodeName }),
    ...(network !== "" && { [TOPOLOGY.network]: network }),
    [TOPOLOGY.cluster]: origin.clusterId,
  };
}

/** As ServiceEntries select it: a container port of the name of the entry's port counts before the number that the entry says. */
export function podWorkload({ pod, endpoint }: PlacedPod): Workload {
  const ports = pod.ports.filter(({ transport }) => transport === "TCP");
  return {
    entry: {
      address: pod.addresses[0] ?? "",
      ports: Object.fromEntries(ports.map(({ name, number }) => [name, number])),
      labels: endpoint.labels,
      network: endpoint.network,
      locality: formatLocality(endpoint.locality),
      weight: 0,
      serviceAccount: pod.serviceAccount,
    },
    labels: endpoint.labels,
    namespace: pod.namespace,
    name: pod.name,
    isUnhealthy: false,
    pod: endpoint,
  };
}
