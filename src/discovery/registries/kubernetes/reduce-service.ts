import type { Protocol } from "../../../istio-api/values/protocol.ts";
import {
  creationTimeOf,
  fields,
  type KubernetesObject,
  labelsOf,
  listOf,
  numberOf,
  textOf,
  texts,
} from "../../../mesh-model/kubernetes-object.ts";
import { selectProtocol } from "../../../mesh-model/select-protocol.ts";
import {
  knownDistribution,
  parseTrafficDistribution,
  TRAFFIC_DISTRIBUTION,
  type TrafficDistribution,
} from "../traffic-distribution.ts";

/** What the model needs of a Service. */
export interface ReducedService {
  readonly name: string;
  readonly namespace: string;
  readonly creationTime: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly exportTo: readonly string[];
  /** Accounts of the own namespace whose workloads may serve it. */
  readonly accounts: readonly string[];
  /** Names of certificates, used as they are. */
  readonly canonicalAccounts: readonly string[];
  /** None for a headless service and for one that has no address yet. */
  readonly clusterIps: readonly string[];
  readonly isHeadless: boolean;
  /** Empty unless the service is another name for a host. */
  readonly externalName: string;
  readonly ports: readonly ReducedServicePort[];
  /** Empty: endpoints are written by someone else than Kubernetes. */
  readonly selector: Readonly<Record<string, string>>;
  readonly publishNotReady: boolean;
  readonly isNodeLocal: boolean;
  readonly trafficDistribution?: TrafficDistribution;
  /** Where clients outside of the cluster reach it. */
  readonly externalAddresses: readonly string[];
  /** Of a NodePort service with an annotation that makes nodes its external addresses. */
  readonly nodePorts?: NodePorts;
}

export interface NodePorts {
  /** Labels of the nodes that clients may use; none: any node. */
  readonly selector: Readonly<Record<string, string>>;
  /** By port of the service. */
  readonly ports: ReadonlyMap<number, number>;
}

export interface ReducedServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly transport: string;
  /** A number, or the name of a container port. */
  readonly target: number | string;
}

export function reduceService({ metadata = {}, spec, status }: KubernetesObject): ReducedService {
  const given = fields(spec);
  const annotations = labelsOf(metadata.annotations);
  const clusterIp = textOf(given.clusterIP);
  const nodePorts = given.type === "NodePort" ? nodePortsOf(annotations[NODE_SELECTOR], given.ports) : undefined;
  const distribution =
    knownDistribution(textOf(given.trafficDistribution)) ?? parseTrafficDistribution(annotations[TRAFFIC_DISTRIBUTION]);
  return {
    name: metadata.name ?? "",
    namespace: metadata.namespace ?? "",
    creationTime: creationTimeOf(metadata),
    labels: labelsOf(metadata.labels),
    exportTo: commaList(annotations["networking.istio.io/exportTo"]),
    accounts: commaList(annotations["alpha.istio.io/kubernetes-serviceaccounts"]),
    canonicalAccounts: commaList(annotations["alpha.istio.io/canonical-serviceaccounts"]),
    clusterIps: clusterIps(clusterIp, texts(given.clusterIPs)),
    isHeadless: clusterIp === "None",
    externalName: given.type === "ExternalName" ? textOf(given.externalName) : "",
    ports: servicePorts(listOf(given.ports).map(reducePort)),
    selector: labelsOf(given.selector),
    publishNotReady: given.publishNotReadyAddresses === true,
    isNodeLocal: given.internalTrafficPolicy === "Local",
    ...(distribution !== undefined && { trafficDistribution: distribution }),
    externalAddresses: [...balancerAddresses(given.type, status), ...texts(given.externalIPs)],
    ...(nodePorts !== undefined && { nodePorts }),
  };
}

function clusterIps(first: string, all: readonly string[]): readonly string[] {
  if (first === "None" || first === "") return [];
  return all.length > 1 ? all : [first];
}

function reducePort(given: Readonly<Record<string, unknown>>): ReducedServicePort {
  const name = textOf(given.name);
  const port = numberOf(given.port);
  const transport = textOf(given.protocol) || "TCP";
  const target = typeof given.targetPort === "string" ? given.targetPort : numberOf(given.targetPort);
  const protocol = selectProtocol({
    name,
    number: port,
    transport: transport === "UDP" ? "UDP" : "TCP",
    ...(typeof given.appProtocol === "string" && { appProtocol: given.appProtocol }),
  });
  return { name, port, protocol, transport, target: target === 0 || target === "" ? port : target };
}

/** Where UDP and TCP share a number, only TCP is the proxies' business. */
function servicePorts(ports: readonly ReducedServicePort[]): readonly ReducedServicePort[] {
  const others = new Set(ports.filter(({ protocol }) => protocol !== "UDP").map(({ port }) => port));
  return ports.filter(({ protocol, port }) => protocol !== "UDP" || !others.has(port));
}

function balancerAddresses(type: unknown, status: unknown): readonly string[] {
  if (type !== "LoadBalancer") return [];
  const { ingress } = fields(fields(status).loadBalancer);
  return listOf(ingress).flatMap(({ ip, hostname }) => textOf(ip) || textOf(hostname) || []);
}

/** A JSON object of labels. */
const NODE_SELECTOR = "traffic.istio.io/nodeSelector";

/** What is not a selector selects as an empty one does, which is how the annotation has always been read. */
function nodePortsOf(annotation: string | undefined, ports: unknown): NodePorts | undefined {
  if (annotation === undefined) return undefined;
  return {
    selector: labelsOf(parsedOrNothing(annotation)),
    ports: new Map(listOf(ports).map(({ port, nodePort }) => [numberOf(port), numberOf(nodePort)])),
  };
}

function parsedOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function commaList(value: string | undefined): readonly string[] {
  if (value === undefined || value === "") return [];
  return value.split(",").map((entry) => entry.trim());
}
