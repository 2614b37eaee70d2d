import { TOPOLOGY } from "../../../istio-api/values/topology-labels.ts";
import type { Endpoint, EndpointHealth } from "../../../mesh-model/endpoint.ts";
import { formatLocality, type Locality } from "../../../mesh-model/locality.ts";
import type { Resolution, Service, ServicePort } from "../../../mesh-model/service.ts";

/** Numbers by which tools know them. */
const RESOLUTIONS: readonly Resolution[] = [
  "ClientSideLB",
  "DNSLB",
  "Passthrough",
  "DNSRoundRobinLB",
  "Alias",
  "DynamicDNS",
];
const HEALTH: readonly EndpointHealth[] = ["Unknown", "Healthy", "UnHealthy", "Draining", "Terminating"];

/** A service in the form of the reference's pages, which has one of them for each address. */
export function showService(service: Service) {
  const addresses = service.addresses.length === 0 ? ["0.0.0.0"] : service.addresses;
  return addresses.map((defaultAddress) => ({
    Attributes: showAttributes(service),
    ports: service.ports.map(showPort),
    ...(service.subjectAltNames.length > 0 && { serviceAccounts: service.subjectAltNames }),
    creationTime: timeOf(service.creationTime),
    hostname: service.hostname,
    clusterVIPs: { Addresses: null },
    defaultAddress,
    ...(service.autoAllocated !== undefined && {
      autoAllocatedIPv4Address: service.autoAllocated.ipv4,
      autoAllocatedIPv6Address: service.autoAllocated.ipv6,
    }),
    Resolution: RESOLUTIONS.indexOf(service.resolution),
    MeshExternal: service.meshExternal,
    ResourceVersion: "",
  }));
}

export function showPort({ name, port, protocol }: ServicePort) {
  return { name, port, protocol };
}

/** One address that serves one port. */
export function showEndpoint(service: Service, endpoint: Endpoint) {
  return {
    Labels: { ...endpoint.labels, ...topologyLabels(endpoint) },
    Addresses: endpoint.addresses,
    ServicePortName: endpoint.servicePortName,
    LegacyClusterPortKey: service.ports.find(({ name }) => name === endpoint.servicePortName)?.port ?? 0,
    ServiceAccount: endpoint.serviceAccount,
    Network: endpoint.network,
    Locality: { Label: formatLocality(endpoint.locality), ClusterID: endpoint.clusterId },
    EndpointPort: endpoint.port,
    LbWeight: endpoint.weight,
    TLSMode: endpoint.tlsMode,
    Namespace: endpoint.namespace,
    WorkloadName: endpoint.workloadName,
    HostName: endpoint.hostName ?? "",
    SubDomain: endpoint.subDomain ?? "",
    HealthStatus: HEALTH.indexOf(endpoint.health),
    SendUnhealthyEndpoints: false,
    NodeName: endpoint.nodeName ?? "",
  };
}

interface Topology {
  readonly clusterId: string;
  readonly network: string;
  readonly locality: Locality;
}

/** Where something runs, as labels; what is not known has none. */
export function topologyLabels({ clusterId, network, locality }: Topology): Readonly<Record<string, string>> {
  const { region, zone, subzone } = locality;
  const values = { cluster: clusterId, network, region, zone, subzone };
  return Object.fromEntries(
    Object.entries(values).flatMap(([part, value]) =>
      value === "" ? [] : [[TOPOLOGY[part as keyof typeof TOPOLOGY], value]],
    ),
  );
}

/** The beginning of time for what has no age. */
export function timeOf(milliseconds: number): string {
  return milliseconds === 0 ? "0001-01-01T00:00:00Z" : new Date(milliseconds).toISOString();
}

function showAttributes(service: Service) {
  const { labels, exportTo, selector } = service;
  return {
    ServiceRegistry: service.provider,
    Name: service.provider === "Kubernetes" ? service.name : service.hostname,
    Namespace: service.namespace,
    Labels: orNull(labels),
    ExportTo: exportTo.length === 0 ? null : Object.fromEntries(exportTo.map((entry) => [entry, {}])),
    Visibility: 0,
    LabelSelectors: orNull(selector ?? {}),
    Aliases: null,
    ClusterExternalAddresses: { Addresses: externalAddresses(service) },
    ClusterExternalPorts: null,
    PassthroughTargetPorts: null,
    Type: "",
    ExternalName: service.externalName ?? "",
    NodeLocal: service.nodeLocal ?? false,
    TrafficDistribution: 0,
    ObjectName: service.name,
    DNSConnectStrategy: 0,
    PublishNotReadyAddresses: service.publishNotReady ?? false,
  };
}

function externalAddresses({ clusterId, externalAddresses: addresses = [] }: Service) {
  return addresses.length === 0 ? null : { [clusterId]: addresses };
}

function orNull(labels: Readonly<Record<string, string>>) {
  return Object.keys(labels).length === 0 ? null : labels;
}
