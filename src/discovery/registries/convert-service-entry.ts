import type { ConfigObject, ObjectRef } from "../../istio-api/config-object.ts";
import type { ServiceEntrySpec } from "../../istio-api/specs.ts";
import { parseProtocol } from "../../istio-api/values/protocol.ts";
import type { Endpoint } from "../../mesh-model/endpoint.ts";
import { type Resolution, type Service, type ServicePort, serviceKey } from "../../mesh-model/service.ts";
import type { DescribedEndpoint } from "../../mesh-model/service-registry.ts";
import { type EndpointOrigin, objectsOfWorkload, toEndpoint, type Workload, withTopology } from "./convert-workload.ts";
import type { ServiceWithEndpoints } from "./registry-state.ts";
import { parseTrafficDistribution, TRAFFIC_DISTRIBUTION } from "./traffic-distribution.ts";

const RESOLUTIONS: Readonly<Record<ServiceEntrySpec["resolution"], Resolution>> = {
  NONE: "Passthrough",
  STATIC: "ClientSideLB",
  DNS: "DNSLB",
  DNS_ROUND_ROBIN: "DNSRoundRobinLB",
  DYNAMIC_DNS: "DynamicDNS",
};

/** One service per host, with all addresses of the entry. `selected`: the workloads its selector chose. */
export function convertServiceEntry(
  entry: ConfigObject<"ServiceEntry">,
  selected: readonly Workload[],
  origin: EndpointOrigin,
): readonly ServiceWithEndpoints[] {
  const { spec } = entry;
  const ports: readonly ServicePort[] = spec.ports.map(({ name, number, protocol, targetPort }) => {
    const isRedirected = spec.resolution === "NONE" && targetPort !== 0;
    return { name, port: number, protocol: parseProtocol(protocol), ...(isRedirected && { calledPort: targetPort }) };
  });
  return spec.hosts.map((hostname) => {
    const service = toService(entry, hostname, ports, origin);
    return { service, endpoints: endpointsOf(entry, hostname, selected, origin) };
  });
}

function toService(
  { spec, name, namespace, creationTime, labels, annotations, kind }: ConfigObject<"ServiceEntry">,
  hostname: string,
  ports: readonly ServicePort[],
  { clusterId }: EndpointOrigin,
): Service {
  const source: ObjectRef = { kind, namespace, name };
  const distribution = parseTrafficDistribution(annotations[TRAFFIC_DISTRIBUTION]);
  const identity = { provider: "External", clusterId, namespace, name, hostname } as const;
  return {
    ...identity,
    key: serviceKey(identity),
    ports,
    addresses: spec.addresses,
    resolution: RESOLUTIONS[spec.resolution],
    meshExternal: spec.location === "MESH_EXTERNAL",
    subjectAltNames: spec.subjectAltNames,
    creationTime,
    labels,
    exportTo: spec.exportTo,
    ...(spec.workloadSelector === undefined ? {} : { selector: spec.workloadSelector.labels }),
    ...(distribution !== undefined && distribution !== "Any" && { trafficDistribution: distribution }),
    source,
  };
}

function endpointsOf(
  entry: ConfigObject<"ServiceEntry">,
  hostname: string,
  selected: readonly Workload[],
  origin: EndpointOrigin,
): readonly Endpoint[] {
  return workloadsOf(entry, hostname, selected, origin).flatMap((workload) =>
    entry.spec.ports.map((port) => toEndpoint(workload, port, origin)),
  );
}

/** The endpoints of one host of the entry, with what each was made from: a workload, a part of the entry, or all of it. */
export function describeEntryEndpoints(
  entry: ConfigObject<"ServiceEntry">,
  hostname: string,
  selected: readonly Workload[],
  origin: EndpointOrigin,
): readonly DescribedEndpoint[] {
  const { spec, kind, namespace, name } = entry;
  return workloadsOf(entry, hostname, selected, origin).flatMap((workload, index) => {
    const isListed = spec.endpoints.length > 0;
    const own = { kind, namespace, name, ...(isListed && { path: ["spec", "endpoints", index] }) };
    const objects = spec.workloadSelector === undefined ? [own] : objectsOfWorkload(workload);
    return spec.ports.map((port) => ({ endpoint: toEndpoint(workload, port, origin), objects }));
  });
}

function workloadsOf(
  { spec, name, namespace }: ConfigObject<"ServiceEntry">,
  hostname: string,
  selected: readonly Workload[],
  origin: EndpointOrigin,
): readonly Workload[] {
  if (spec.workloadSelector !== undefined) return selected;
  const isDns = spec.resolution === "DNS" || spec.resolution === "DNS_ROUND_ROBIN";
  if (spec.endpoints.length === 0 && isDns) return [itself(hostname, name, namespace)];
  return spec.endpoints.map((entry, index) => {
    const labels = withTopology(entry.labels, entry, origin);
    return { entry, labels, namespace, name: `${name}-${index}`, isUnhealthy: false };
  });
}

/** Names without endpoints are resolved by the proxies as they are. */
function itself(hostname: string, name: string, namespace: string): Workload {
  const entry = { address: hostname, ports: {}, labels: {}, network: "", locality: "", weight: 0, serviceAccount: "" };
  return { entry, labels: {}, namespace, name, isUnhealthy: false };
}
