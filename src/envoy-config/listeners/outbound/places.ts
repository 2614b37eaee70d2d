import { isIP } from "node:net";
import { isHttp, type Protocol } from "../../../istio-api/values/protocol.ts";
import { isUnixAddress } from "../../../mesh-model/endpoint.ts";
import type { EgressListener, OutboundScope } from "../../../mesh-model/push-snapshot.ts";
import { isHeadless, type Service, type ServicePort } from "../../../mesh-model/service.ts";
import { hasFamily, isWildcardBind, loopbackBinds, virtualAddresses, wildcardBinds } from "../addresses.ts";

/** Where connections to a service arrive. */
export interface Place {
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
export function sharedPlace(scope: OutboundScope, { binds, isBound }: ListenOn): Place {
  return { binds: binds ?? wildcardBinds(scope.traits), isBound, ranges: [], isShared: true };
}

interface PlacedPort {
  readonly protocol: Protocol;
  readonly servicePort: ServicePort;
}

/** HTTP services share a listener and are told apart by host name. Others need an address of their own. */
export function placesOf(scope: OutboundScope, listen: ListenOn, service: Service, port: PlacedPort): readonly Place[] {
  const shared = sharedPlace(scope, listen);
  const own = (address: string): Place => ({ ...shared, binds: [address], isShared: false });
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
  return [...plain.map(own), ...(ranges.length > 0 ? [{ ...shared, ranges }] : [])];
}

function endpointAddresses(scope: OutboundScope, { key }: Service, { name }: ServicePort): readonly string[] {
  const addresses = scope.snapshot
    .endpoints(key)
    .filter(({ servicePortName }) => servicePortName === name)
    .flatMap((endpoint) => endpoint.addresses)
    .filter((address) => isIP(address) !== 0 && hasFamily(address, scope.traits));
  return [...new Set(addresses)];
}
