import { TOPOLOGY } from "../../../istio-api/values/topology-labels.ts";
import { fields, type KubernetesObject, labelsOf, listOf, textOf } from "../../../mesh-model/kubernetes-object.ts";
import type { Locality } from "../../../mesh-model/locality.ts";
import { parseTrafficDistribution, TRAFFIC_DISTRIBUTION, type TrafficDistribution } from "../traffic-distribution.ts";
import { type ReducedPod, reducePod } from "./reduce-pod.ts";
import { type ReducedService, reduceService } from "./reduce-service.ts";
import { type ReducedSlice, reduceSlice } from "./reduce-slice.ts";

/** What the model needs of a Node. */
export interface ReducedNode {
  readonly locality: Locality;
  readonly labels: Readonly<Record<string, string>>;
  /** Where clients outside of the cluster reach it; empty: they do not. */
  readonly externalAddress: string;
}

/** What the model needs of a Namespace. */
export interface ReducedNamespace {
  readonly labels: Readonly<Record<string, string>>;
  /** For services that say nothing about it. */
  readonly trafficDistribution?: TrafficDistribution;
}

/** Everything the registry reads, by kind. */
export interface ReducedKinds {
  readonly Service: ReducedService;
  readonly EndpointSlice: ReducedSlice;
  readonly Pod: ReducedPod;
  readonly Node: ReducedNode;
  readonly Namespace: ReducedNamespace;
}

/** From an object of the API server to what is held in memory of it; undefined for objects that do not matter. */
export const REDUCERS: {
  readonly [Of in keyof ReducedKinds]: (object: KubernetesObject) => ReducedKinds[Of] | undefined;
} = {
  Service: reduceService,
  EndpointSlice: reduceSlice,
  Pod: reducePod,
  Node: reduceNode,
  Namespace: reduceNamespace,
};

const OLD_REGION = "failure-domain.beta.kubernetes.io/region";
const OLD_ZONE = "failure-domain.beta.kubernetes.io/zone";

function reduceNode({ metadata = {}, status }: KubernetesObject): ReducedNode {
  const labels = labelsOf(metadata.labels);
  return {
    locality: {
      region: labels[TOPOLOGY.region] || labels[OLD_REGION] || "",
      zone: labels[TOPOLOGY.zone] || labels[OLD_ZONE] || "",
      subzone: labels[TOPOLOGY.subzone] ?? "",
    },
    labels,
    externalAddress: textOf(listOf(fields(status).addresses).find(isExternalIp)?.address),
  };
}

function isExternalIp({ type, address }: Readonly<Record<string, unknown>>): boolean {
  return type === "ExternalIP" && textOf(address) !== "";
}

function reduceNamespace({ metadata = {} }: KubernetesObject): ReducedNamespace {
  const distribution = parseTrafficDistribution(labelsOf(metadata.annotations)[TRAFFIC_DISTRIBUTION]);
  return {
    labels: labelsOf(metadata.labels),
    ...(distribution !== undefined && { trafficDistribution: distribution }),
  };
}
