/** Rule objects of the meshes that tests build, as YAML. */
export interface ServiceOptions {
  readonly name: string;
  readonly vip: string;
  readonly ports: readonly PortOptions[];
  readonly endpoints: readonly EndpointOptions[];
}

export interface PortOptions {
  readonly number: number;
  readonly name: string;
  /** Absent: found out from the traffic. */
  readonly protocol?: string;
  readonly targetPort: number;
}

export interface EndpointOptions {
  readonly address: string;
  /** Absent: no sidecar there. */
  readonly serviceAccount?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly network?: string;
}

export const hostOf = (name: string) => `${name}.default.svc.cluster.local`;

export function serviceEntry({ name, vip, ports, endpoints }: ServiceOptions): string {
  return ruleObject("networking.istio.io/v1", "ServiceEntry", name, {
    hosts: [hostOf(name)],
    addresses: [vip],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports,
    endpoints,
  });
}

export function virtualService(name: string, http: readonly object[]): string {
  return ruleObject("networking.istio.io/v1", "VirtualService", name, { hosts: [hostOf(name)], http });
}

export function destinationRule(name: string, spec: object): string {
  return ruleObject("networking.istio.io/v1", "DestinationRule", name, { host: hostOf(name), ...spec });
}

export function peerAuthentication(name: string, spec: object): string {
  return ruleObject("security.istio.io/v1", "PeerAuthentication", name, spec);
}

export function ruleObject(apiVersion: string, kind: string, name: string, spec: object): string {
  // JSON is YAML.
  return `${JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "default" }, spec })}\n`;
}

export const documents = (...texts: readonly string[]) => texts.join("---\n");

/** The version subsets of a service. */
export const VERSIONS = {
  subsets: ["v1", "v2"].map((name) => ({ name, labels: { version: name } })),
};

export const toSubset = (name: string, subset: string, weight?: number) => ({
  destination: { host: hostOf(name), subset },
  ...(weight !== undefined && { weight }),
});

/** A service with a sidecar, called by HTTP and TCP, for rules about who may. */
export function guardedService(address: string, vip: string): string {
  return serviceEntry({
    name: "server",
    vip,
    ports: [
      { number: 80, name: "http", protocol: "HTTP", targetPort: 9002 },
      { number: 9001, name: "tcp", protocol: "TCP", targetPort: 9001 },
    ],
    endpoints: [{ address, serviceAccount: "server" }],
  });
}
