import { isUnixAddress } from "../../istio-api/values/address.ts";
import { isHttp, type Protocol } from "../../istio-api/values/protocol.ts";
import type { EgressListener, OutboundScope, ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import { addressesIn, isHeadless, type Service, type ServicePort } from "../../mesh-model/service.ts";
import { isIP } from "../../net/ip.ts";
import type { Address } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";

type Families = Pick<ScopeTraits, "ipv4" | "ipv6">;

/** A listener's name, and its addresses; the first address names it. */
export function listenerAddress(
  binds: readonly string[],
  port: number,
): Pick<Listener, "name" | "address" | "additionalAddresses"> {
  const [primary = "", ...others] = binds;
  return {
    name: listenerName(primary, port),
    address: buildAddress(primary, port),
    ...(others.length > 0 && { additionalAddresses: others.map((bind) => ({ address: buildAddress(bind, port) })) }),
  };
}

export function listenerName(bind: string, port: number): string {
  return `${bind}_${port}`;
}

function buildAddress(bind: string, port: number): Address {
  if (isUnixAddress(bind)) return { pipe: { path: bind.slice("unix://".length) } };
  return { socketAddress: { address: bind, portValue: port } };
}

/** Every address of the families that the proxy has. A proxy that sent no address gets IPv4. */
export function wildcardBinds({ ipv4, ipv6 }: Families): readonly string[] {
  if (!ipv6) return ["0.0.0.0"];
  return ipv4 ? ["0.0.0.0", "::"] : ["::"];
}

export function loopbackBinds({ ipv4, ipv6 }: Families): readonly string[] {
  if (!ipv6) return ["127.0.0.1"];
  return ipv4 ? ["127.0.0.1", "::1"] : ["::1"];
}

export function isWildcardBind(bind: string): boolean {
  return bind === "0.0.0.0" || bind === "::";
}

interface VirtualAddresses {
  readonly plain: readonly string[];
  readonly ranges: readonly string[];
  /** It has addresses, and none that such a proxy could call. */
  readonly isForeign: boolean;
}

/**
 * Under which addresses this kind of proxy knows the service. Addresses of a family that the proxy lacks are left out: on a machine
 * without IPv6 Envoy refuses a listener that merely names such an address.
 */
export function virtualAddresses(service: Service, traits: ScopeTraits): VirtualAddresses {
  const own = addressesIn(service, traits.clusterId);
  const given = (own.length > 0 ? own : allocated(service, traits)).map(withoutLength);
  const usable = given.filter((address) => hasFamily(address, traits));
  return {
    plain: usable.filter((address) => !address.includes("/")),
    ranges: usable.filter((address) => address.includes("/")),
    isForeign: given.length > 0 && usable.length === 0,
  };
}

/** A range of one address is an address. */
function withoutLength(address: string): string {
  const [ip = "", length] = address.split("/");
  return length === (isIP(ip) === 6 ? "128" : "32") ? ip : address;
}

function allocated({ autoAllocated }: Service, { dnsCapture, dnsAutoAllocate }: ScopeTraits): readonly string[] {
  if (autoAllocated === undefined || !dnsCapture || !dnsAutoAllocate) return [];
  return [autoAllocated.ipv4, autoAllocated.ipv6];
}

export function hasFamily(address: string, { ipv4, ipv6 }: Families): boolean {
  const family = isIP(address.split("/", 1)[0] ?? "");
  return family === 6 ? ipv6 : family === 4 && (ipv4 || !ipv6);
}

/** Where connections to a service arrive. */
export interface ListenerBinds {
  readonly binds: readonly string[];
  /** The proxy really listens there. */
  readonly isBound: boolean;
  /** Of the service, where the listener has every address. */
  readonly ranges: readonly string[];
  /** Connections to others arrive there as well. */
  readonly isShared: boolean;
}

/** What an egress listener says about its addresses. */
export interface ListenOn {
  readonly isBound: boolean;
  /** Undefined: chosen by the service. */
  readonly binds: readonly string[] | undefined;
}

export function listenOn(scope: OutboundScope, { bind, captureMode }: EgressListener): ListenOn {
  const isBound = scope.traits.interception === "NONE" || captureMode === "NONE" || isUnixAddress(bind);
  const binds = bind !== "" ? [bind] : isBound ? loopbackBinds(scope.traits) : undefined;
  return { isBound, binds };
}

/** Every address of a port. */
export function sharedBinds(scope: OutboundScope, { binds, isBound }: ListenOn): ListenerBinds {
  return { binds: binds ?? wildcardBinds(scope.traits), isBound, ranges: [], isShared: true };
}

interface CarriedPort {
  readonly protocol: Protocol;
  readonly servicePort: ServicePort;
}

/** HTTP services share a listener and are matched by host name. Others need an address of their own. */
export function bindsOf(
  scope: OutboundScope,
  listen: ListenOn,
  service: Service,
  port: CarriedPort,
): readonly ListenerBinds[] {
  const shared = sharedBinds(scope, listen);
  const own = (address: string): ListenerBinds => ({ ...shared, binds: [address], isShared: false });
  const { plain, ranges, isForeign } = virtualAddresses(service, scope.traits);
  if (listen.binds !== undefined) {
    const isShared = listen.binds.some(isWildcardBind) && plain.length === 0;
    return [{ ...shared, isShared }];
  }
  if (isHttp(port.protocol)) return [shared];
  // A listener for every address would catch what is not meant for it.
  if (isForeign) return [];
  if (isHeadless(service)) {
    const endpoints = endpointAddresses(scope, service, port.servicePort);
    // So would one of a service that selects workloads and has none yet.
    if (endpoints.length > 0 || service.selector !== undefined || service.provider === "Kubernetes") {
      return endpoints.map(own);
    }
  }
  if (plain.length + ranges.length === 0) return [shared];
  // Addresses of one service in several families are one address to clients, and one listener.
  if (service.provider === "Kubernetes" && plain.length > 0) return [{ ...shared, binds: plain, isShared: false }];
  const anywhere = service.isCalledAnywhere ? [shared] : ranges.length > 0 ? [{ ...shared, ranges }] : [];
  return [...plain.map(own), ...anywhere];
}

function endpointAddresses(scope: OutboundScope, { key }: Service, { name }: ServicePort): readonly string[] {
  const addresses = scope.snapshot
    .endpoints(key)
    .filter(({ servicePortName }) => servicePortName === name)
    .flatMap((endpoint) => endpoint.addresses)
    .filter((address) => isIP(address) !== 0 && hasFamily(address, scope.traits))
    // Its own connections to itself need no proxy.
    .filter((address) => !scope.traits.ownAddresses?.includes(address));
  return [...new Set(addresses)];
}
