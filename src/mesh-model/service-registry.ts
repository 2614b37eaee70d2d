import type { Endpoint, ServiceTarget } from "./endpoint.ts";
import type { Locality } from "./locality.ts";
import type { NetworkGateway } from "./networks.ts";
import type { ObjectName, Provider, Service } from "./service.ts";

/** What a registry reports to its listeners, by service key. A service is in one of the lists at most. */
export interface RegistryChange {
  /** New, or another service than before; its endpoints may differ as well. */
  readonly updated: readonly string[];
  readonly deleted: readonly string[];
  /** The service is the same value as before, its endpoints are not. */
  readonly endpoints: readonly string[];
  /** Some workload is registered otherwise than before: its labels, where it runs, or what it serves. */
  readonly workloads?: true;
  /** Some gateway of a network came, went, or is elsewhere. */
  readonly gateways?: true;
}

export type RegistryListener = (change: RegistryChange) => void;

/** Who asks for what it serves itself. */
export interface ProxyAddresses {
  readonly addresses: readonly string[];
  readonly namespace: string;
  /** `POD.NAMESPACE` for pods of Kubernetes. */
  readonly id?: string;
  /** What the proxy says of itself, for a platform that does not know the workload yet. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly clusterId?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A workload as its platform knows it. */
export interface RegisteredWorkload {
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: Locality;
  readonly network: string;
}

/** An object that an endpoint was made from. */
export interface EndpointObject extends ObjectName {
  /** The part of the object that the endpoint is: `spec.endpoints[2]`. */
  readonly path?: readonly (string | number)[];
  /** The registry's cluster that has it; absent for rule objects. */
  readonly cluster?: string;
  /** Another object describes the same endpoint, and counts. */
  readonly overruledBy?: ObjectName;
}

/** An endpoint of a service with the objects that it was made from. */
export interface DescribedEndpoint {
  readonly endpoint: Endpoint;
  readonly objects: readonly EndpointObject[];
}

/** A state of an object in one cluster. */
export interface ObjectVersion {
  readonly cluster: string;
  readonly resourceVersion: string;
}

/** A platform that knows services and where they run. What it returns is immutable; equal answers are the same values. */
export interface ServiceRegistry {
  readonly provider: Provider;
  readonly clusterId: string;
  /** False until the platform has been read once. */
  readonly synced: boolean;
  /** In the order in which services win: oldest, then name, then namespace. */
  services(): readonly Service[];
  service(key: string): Service | undefined;
  /** Of all ports of the service, in the order the platform has them; empty for an unknown key. */
  endpoints(serviceKey: string): readonly Endpoint[];
  /** The same endpoints, with what each was made from; worked out when it is asked, by the functions that made them. */
  describeEndpoints?(serviceKey: string): readonly DescribedEndpoint[];
  /** States of an object that the registry reads itself, and knows by its version; none for others. */
  objectVersions?(object: ObjectName): readonly ObjectVersion[];
  /** The ports of services that run at one of the addresses, in the proxy's own namespace. */
  targets(proxy: ProxyAddresses): readonly ServiceTarget[];
  /** The workload at the proxy's addresses, also where it serves nothing. Platforms that know only services have none. */
  workload?(proxy: ProxyAddresses): RegisteredWorkload | undefined;
  /** Gateways of networks among its services; their addresses may be names. Platforms without such services have none. */
  gateways?(): readonly NetworkGateway[];
  /** Calls after each change. Returns what ends the subscription. */
  subscribe(listener: RegistryListener): () => void;
}
