import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ServiceEntryPort, WorkloadEntrySpec } from "../../istio-api/specs.ts";
import { isUnixAddress } from "../../istio-api/values/address.ts";
import { TOPOLOGY } from "../../istio-api/values/topology-labels.ts";
import { AUTO_REGISTRATION_GROUP, type Endpoint, TLS_MODE_LABEL } from "../../mesh-model/endpoint.ts";
import { type Locality, labelledLocality, parseLocality } from "../../mesh-model/locality.ts";
import type { EndpointObject } from "../../mesh-model/service-registry.ts";
import { formatSpiffe } from "../../mesh-model/workload-identity.ts";

/** Something with an address: a WorkloadEntry, or an endpoint written into a ServiceEntry. */
export interface Workload {
  readonly entry: WorkloadEntrySpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly namespace: string;
  readonly name: string;
  readonly isUnhealthy: boolean;
  /** The WorkloadGroup that the workload registered itself with. */
  readonly group?: string;
  /** Where the workload is a pod of a platform, which knows more of it than an entry could say: its endpoint, on no port yet. */
  readonly pod?: Endpoint;
}

/** Workloads of a platform that ServiceEntries may select besides WorkloadEntries. */
export interface WorkloadSource {
  /** The same values while they stay the same. */
  list(namespace: string): readonly Workload[];
  /** Calls with the namespaces whose workloads differ. Returns what ends the subscription. */
  subscribe(listener: (namespaces: ReadonlySet<string>) => void): () => void;
}

/** What the registry adds to what objects say. */
export interface EndpointOrigin {
  readonly trustDomain: string;
  readonly clusterId: string;
  /** The network of an address whose object names none; empty: not known. None without. */
  readonly networkOf?: (address: string) => string;
}

/** Labels of the object override those of its spec. */
export function toWorkload(
  { spec, labels, annotations, namespace, name, status }: ConfigObject<"WorkloadEntry">,
  origin: Pick<EndpointOrigin, "clusterId" | "networkOf">,
): Workload {
  const all = withTopology({ ...spec.labels, ...labels }, spec, origin);
  const group = annotations[AUTO_REGISTRATION_GROUP];
  return {
    entry: spec,
    labels: all,
    namespace,
    name,
    isUnhealthy: isUnhealthy(annotations, status),
    ...(group && { group }),
  };
}

/** What a workload that a selector chose is made from. */
export function objectsOfWorkload({ namespace, name, group, pod }: Workload): readonly EndpointObject[] {
  if (pod !== undefined) return [{ kind: "Pod", namespace, name, cluster: pod.clusterId }];
  const entry = { kind: "WorkloadEntry", namespace, name };
  return group === undefined ? [entry] : [entry, { kind: "WorkloadGroup", namespace, name: group }];
}

/** Rules choose workloads by their locality too, so that it is among the labels; a network that is a label already stays. */
export function withTopology(
  labels: Workload["labels"],
  { locality, network: own, address }: WorkloadEntrySpec,
  { clusterId, networkOf }: Pick<EndpointOrigin, "clusterId" | "networkOf">,
): Workload["labels"] {
  const network = own || networkOf?.(address) || "";
  const { region, zone, subzone } = placeOf(locality, labels);
  return {
    ...(network !== "" && { [TOPOLOGY.network]: network }),
    ...labels,
    ...(region !== "" && { [TOPOLOGY.region]: region }),
    ...(zone !== "" && { [TOPOLOGY.zone]: zone }),
    ...(subzone !== "" && { [TOPOLOGY.subzone]: subzone }),
    [TOPOLOGY.cluster]: clusterId,
  };
}

function placeOf(locality: string, labels: Workload["labels"]): Locality {
  return parseLocality(locality || labelledLocality(labels));
}

export function toEndpoint(
  workload: Workload,
  port: ServiceEntryPort,
  { trustDomain, clusterId, networkOf }: EndpointOrigin,
): Endpoint {
  const { entry, labels, namespace, name, pod } = workload;
  if (pod !== undefined) return { ...pod, servicePortName: port.name, port: endpointPort(entry, port) };
  const { serviceAccount } = entry;
  return {
    addresses: entry.address === "" ? [] : [entry.address],
    servicePortName: port.name,
    port: endpointPort(entry, port),
    labels,
    serviceAccount: serviceAccount === "" ? "" : formatSpiffe({ trustDomain, namespace, serviceAccount }),
    network: entry.network || labels[TOPOLOGY.network] || networkOf?.(entry.address) || "",
    locality: placeOf(entry.locality, labels),
    clusterId,
    weight: entry.weight,
    tlsMode: tlsMode(labels, serviceAccount),
    namespace,
    workloadName: name,
    health: workload.isUnhealthy ? "UnHealthy" : "Unknown",
  };
}

function endpointPort({ address, ports }: WorkloadEntrySpec, { name, number, targetPort }: ServiceEntryPort): number {
  if (isUnixAddress(address)) return 0;
  const own = Object.hasOwn(ports, name) ? ports[name] : undefined;
  return own ?? (targetPort === 0 ? number : targetPort);
}

/** The label decides; without it, who has an identity can prove it. */
function tlsMode(labels: Readonly<Record<string, string>>, serviceAccount: string): Endpoint["tlsMode"] {
  const label = labels[TLS_MODE_LABEL];
  if (label !== undefined) return label === "istio" ? "istio" : "disabled";
  return serviceAccount === "" ? "disabled" : "istio";
}

/** An agent's health checks end up in a condition of its WorkloadEntry; until the first one it is not healthy. */
function isUnhealthy(annotations: Readonly<Record<string, string>>, status: unknown): boolean {
  if (!TRUE.has(annotations["proxy.istio.io/health-checks-enabled"] ?? "")) return false;
  const conditions = (status as { readonly conditions?: unknown } | null | undefined)?.conditions;
  if (!Array.isArray(conditions)) return true;
  return !conditions.some((condition) => condition?.type === "Healthy" && condition?.status === "True");
}

const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True"]);
