import { isIP } from "node:net";
import { isUnixAddress } from "../../../model/endpoint.ts";
import { isHttp, isSniffed, type Protocol, parseProtocol } from "../../../model/protocol.ts";
import { findPort, isHeadless, type Service, type ServicePort } from "../../../model/service.ts";
import type { EgressListener, OutboundScope } from "../../../snapshot/push-snapshot.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import { hasFamily, isWildcardBind, loopbackBinds, virtualAddresses, wildcardBinds } from "../addresses.ts";
import type { ListenerConflict } from "../listener-conflict.ts";
import { createHostRules, type HostRules } from "./host-rules.ts";
import { createOutboundEntries, type HttpPart, type OutboundEntry } from "./outbound-entry.ts";
import { buildTcpChains } from "./tcp-chains.ts";

type Report = (conflict: ListenerConflict) => void;

/** All services that the proxy may call, sorted into listeners by address and port. */
export function collectEntries(scope: OutboundScope, accessLogs: AccessLogs, report: Report): Iterable<OutboundEntry> {
  const entries = createOutboundEntries(report);
  for (const egress of scope.egress) {
    // Ports that a Sidecar object names are as it says; the listener without port adds all others.
    if (egress.port === undefined) entries.lock();
    const listen = listenOn(scope, egress);
    for (const service of egress.services) {
      if (service.resolution === "Alias") continue;
      for (const port of calledPorts(service, egress)) {
        for (const place of placesOf(scope, listen, service, port)) {
          entries.add(buildWish({ scope, accessLogs, rules: listen.rules, service, port, place }));
        }
      }
    }
  }
  return entries.all;
}

/** How the listeners of an egress listener are bound. */
interface ListenOn {
  readonly isBound: boolean;
  /** Undefined: chosen by the service. */
  readonly binds: readonly string[] | undefined;
  readonly rules: HostRules;
}

function listenOn(scope: OutboundScope, { bind, captureMode, virtualServices }: EgressListener): ListenOn {
  const isBound = scope.traits.interception === "NONE" || captureMode === "NONE" || isUnixAddress(bind);
  const binds = bind !== "" ? [bind] : isBound ? loopbackBinds(scope.traits) : undefined;
  return { isBound, binds, rules: createHostRules(virtualServices) };
}

/** A port of a listener, and the port of the service behind it. */
interface CalledPort {
  readonly number: number;
  readonly protocol: Protocol;
  readonly servicePort: ServicePort;
}

/** A port of a Sidecar object stands for the service's port of that number, or for its only one. */
function calledPorts(service: Service, { port }: EgressListener): readonly CalledPort[] {
  if (port === undefined) {
    return service.ports
      .filter(({ protocol }) => protocol !== "UDP")
      .map((servicePort) => ({ number: servicePort.port, protocol: servicePort.protocol, servicePort }));
  }
  const protocol = parseProtocol(port.protocol);
  const servicePort = findPort(service, port.number) ?? onlyPort(service, protocol, port.number);
  return servicePort === undefined || protocol === "UDP" ? [] : [{ number: port.number, protocol, servicePort }];
}

/** Requests through a unix socket name host and port themselves, so that any port will do. */
function onlyPort({ ports }: Service, protocol: Protocol, listenPort: number): ServicePort | undefined {
  const isNamedByRequest = listenPort === 0 && isHttp(protocol);
  return ports.length === 1 || isNamedByRequest ? ports[0] : undefined;
}

interface Place {
  readonly binds: readonly string[];
  readonly isBound: boolean;
  /** Of the service, where the listener has every address. */
  readonly ranges: readonly string[];
  readonly isShared: boolean;
}

/** HTTP services share a listener and are told apart by host name. Others need an address of their own. */
function placesOf(scope: OutboundScope, listen: ListenOn, service: Service, port: CalledPort): readonly Place[] {
  const { isBound } = listen;
  if (listen.binds !== undefined) return [{ binds: listen.binds, isBound, ranges: [], isShared: false }];
  const everywhere: Place = { binds: wildcardBinds(scope.traits), isBound, ranges: [], isShared: true };
  if (isHttp(port.protocol)) return [everywhere];
  if (isHeadless(service)) {
    const endpoints = endpointAddresses(scope, service, port.servicePort);
    // A service that selects workloads and has none yet gets nothing: a listener for every address would catch what is not meant for it.
    if (endpoints.length > 0 || service.selector !== undefined || service.provider === "Kubernetes") {
      return endpoints.map((address) => ({ binds: [address], isBound, ranges: [], isShared: false }));
    }
  }
  const { plain, ranges } = virtualAddresses(service, scope.traits);
  if (plain.length + ranges.length === 0) return [everywhere];
  return [
    ...plain.map((address) => ({ binds: [address], isBound, ranges: [], isShared: false })),
    ...(ranges.length > 0 ? [{ ...everywhere, ranges }] : []),
  ];
}

function endpointAddresses(scope: OutboundScope, { key }: Service, { name }: ServicePort): readonly string[] {
  const addresses = scope.snapshot
    .endpoints(key)
    .filter(({ servicePortName }) => servicePortName === name)
    .flatMap((endpoint) => endpoint.addresses)
    .filter((address) => isIP(address) !== 0 && hasFamily(address, scope.traits));
  return [...new Set(addresses)];
}

interface WishInput {
  readonly scope: OutboundScope;
  readonly accessLogs: AccessLogs;
  readonly rules: HostRules;
  readonly service: Service;
  readonly port: CalledPort;
  readonly place: Place;
}

function buildWish({ scope, accessLogs, rules, service, port, place }: WishInput) {
  const { number, protocol, servicePort } = port;
  const { binds, isBound } = place;
  const listenPort = isUnixAddress(binds[0] ?? "") ? 0 : number;
  const carriesHttp = isHttp(protocol) || isSniffed(protocol);
  return {
    binds,
    port: listenPort,
    isBound,
    protocol,
    owner: service.hostname,
    ...(carriesHttp && { http: httpPart(service, protocol, listenPort, binds[0] ?? "") }),
    tcp: isHttp(protocol)
      ? []
      : buildTcpChains({
          scope,
          listenPort,
          accessLog: accessLogs.traffic,
          service,
          protocol,
          servicePort: servicePort.port,
          ranges: place.ranges,
          isShared: place.isShared,
          rules: rules.of(service.hostname),
        }),
  };
}

function httpPart({ hostname }: Service, protocol: Protocol, port: number, bind: string): HttpPart {
  // A sniffed port at an address of its own has routes of its own: any name that is called there means the service.
  const isOwn = isSniffed(protocol) && !isWildcardBind(bind);
  const shared = port === 0 ? bind : String(port);
  return {
    routeName: isOwn && port !== 0 ? `${hostname}:${port}` : shared,
    grpcWeb: protocol === "GRPC-Web",
    acceptsAbsoluteUrl: protocol === "HTTP_PROXY",
  };
}
