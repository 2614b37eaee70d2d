import { compareText } from "../../istio-api/config-object.ts";
import { isUnixAddress } from "../../istio-api/values/address.ts";
import type { Endpoint, EndpointHealth } from "../../mesh-model/endpoint.ts";
import { formatLocality, type Locality } from "../../mesh-model/locality.ts";
import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import { workloadLabels } from "../../mesh-model/workload-labels.ts";
import { isIP, isIPv6 } from "../../net/ip.ts";
import { constantMessage } from "../../protobuf/envoy/index.ts";
import type { Address, HealthStatus, Metadata } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { LbEndpoint } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import { endpointMetadata, type ServedService } from "../telemetry/metric-tags.ts";

export interface LbEndpointOptions {
  readonly families: Pick<ScopeTraits, "ipv4" | "ipv6">;
  /** The proxy resolves names; otherwise only addresses are of use. */
  readonly resolvesNames: boolean;
  readonly isMtls: (endpoint: Endpoint) => boolean;
  /** Endpoints say what they are and that they are called for this service, for metrics. */
  readonly describedFor?: ServedService | undefined;
}

/** Whether the proxy could call it at all. */
export function isCallable(
  endpoint: Endpoint,
  options: Pick<LbEndpointOptions, "families" | "resolvesNames">,
): boolean {
  return usableAddresses(endpoint, options).length > 0;
}

/** Undefined for an endpoint that the proxy could not call. */
export function lbEndpoint(endpoint: Endpoint, options: LbEndpointOptions): LbEndpoint | undefined {
  const [address, ...more] = usableAddresses(endpoint, options);
  if (address === undefined) return undefined;
  const weight = endpointWeight(endpoint);
  const healthStatus = HEALTH[endpoint.health];
  const additionalAddresses = more.map((each) => ({ address: toAddress(each, endpoint.port) }));
  return {
    endpoint: {
      address: toAddress(address, endpoint.port),
      ...(additionalAddresses.length > 0 && { additionalAddresses }),
    },
    ...(healthStatus !== undefined && { healthStatus }),
    ...metadataOf(endpoint, options),
    // One is what Envoy assumes.
    ...(weight !== 1 && { loadBalancingWeight: weight }),
  };
}

/** `unix:///run/app.sock` is a path on the proxy's machine. */
export function toAddress(address: string, port: number): Address {
  if (isUnixAddress(address)) return { pipe: { path: address.slice("unix://".length) } };
  return { socketAddress: { address, portValue: port } };
}

const MTLS = constantMessage<Metadata>({
  filterMetadata: { "envoy.transport_socket_match": { tlsMode: "istio" } },
});

function metadataOf(
  endpoint: Endpoint,
  { isMtls, describedFor }: Pick<LbEndpointOptions, "isMtls" | "describedFor">,
): Pick<LbEndpoint, "metadata"> {
  if (describedFor === undefined) return isMtls(endpoint) ? { metadata: MTLS } : {};
  const mtls = isMtls(endpoint) ? MTLS.filterMetadata : {};
  return { metadata: { filterMetadata: { ...mtls, ...endpointMetadata(workloadLabels(endpoint), describedFor) } } };
}

/** Endpoints of files have no health check: no status counts as healthy. */
const HEALTH: Readonly<Record<EndpointHealth, HealthStatus | undefined>> = {
  Unknown: undefined,
  Healthy: "HEALTHY",
  UnHealthy: "UNHEALTHY",
  Draining: "DRAINING",
  Terminating: undefined,
};

/** Of several addresses those that the proxy has a network for; a single one is taken as it is. Paths are nothing to look up. */
function usableAddresses(
  { addresses }: Endpoint,
  { families, resolvesNames }: Pick<LbEndpointOptions, "families" | "resolvesNames">,
): readonly string[] {
  const usable = addresses.filter((address) =>
    isUnixAddress(address) ? !resolvesNames : resolvesNames || isIP(address) !== 0,
  );
  if (usable.length <= 1) return usable;
  const reachable = usable.filter((address) => (isIPv6(address) ? families.ipv6 : families.ipv4));
  return reachable.length === 0 ? usable.slice(0, 1) : reachable;
}

/** Endpoints of one locality that are equally preferred. */
export interface LocalityGroup {
  readonly locality: Locality;
  readonly endpoints: readonly Endpoint[];
  readonly weight: number;
  readonly priority: number;
}

/** By locality, sorted, all equally preferred; each locality weighs as much as its endpoints together. */
export function groupByLocality(endpoints: readonly Endpoint[]): readonly LocalityGroup[] {
  const localities = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) {
    const locality = formatLocality(endpoint.locality);
    const there = localities.get(locality);
    if (there === undefined) localities.set(locality, [endpoint]);
    else there.push(endpoint);
  }
  return [...localities]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([, there]) => (there[0] === undefined ? [] : [group(there[0].locality, there)]));
}

export function group(locality: Locality, endpoints: readonly Endpoint[], priority = 0): LocalityGroup {
  return { locality, endpoints, weight: endpoints.reduce((sum, each) => sum + endpointWeight(each), 0), priority };
}

/** Without one it weighs as much as any. */
export function endpointWeight({ weight }: Endpoint): number {
  return weight === 0 ? 1 : weight;
}
