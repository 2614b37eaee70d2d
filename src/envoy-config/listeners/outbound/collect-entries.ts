import { isHttp, isSniffed, type Protocol, parseProtocol } from "../../../istio-api/values/protocol.ts";
import { isUnixAddress } from "../../../mesh-model/endpoint.ts";
import type { EgressListener, OutboundScope } from "../../../mesh-model/push-snapshot.ts";
import { findPort, type Service, type ServicePort } from "../../../mesh-model/service.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import { isDynamic } from "../../dynamic-dns.ts";
import { isWildcardBind } from "../addresses.ts";
import type { ListenerConflict } from "../listener-conflict.ts";
import { createHostRules, type HostRules } from "./host-rules.ts";
import { createOutboundEntries, type HttpPart, type OutboundEntry, type Wish } from "./outbound-entry.ts";
import { listenOn, type Place, placesOf } from "./places.ts";
import { buildTcpChains } from "./tcp-chains.ts";
import { unregisteredHosts } from "./unregistered-hosts.ts";

type Report = (conflict: ListenerConflict) => void;

/** All services that the proxy may call, sorted into listeners by address and port. */
export function collectEntries(scope: OutboundScope, accessLogs: AccessLogs, report: Report): Iterable<OutboundEntry> {
  const entries = createOutboundEntries(report);
  for (const egress of scope.egress) {
    // Ports that a Sidecar object names are as it says; the listener without port adds all others.
    if (egress.port === undefined) entries.lock();
    const listen = listenOn(scope, egress);
    const rules = createHostRules(egress.virtualServices);
    for (const service of egress.services) {
      if (service.resolution === "Alias") continue;
      for (const port of calledPorts(service, egress)) {
        for (const place of placesOf(scope, listen, service, port)) {
          entries.add(buildWish({ scope, accessLogs, rules, service, port, place }));
        }
      }
    }
    for (const wish of unregisteredHosts({ scope, accessLogs, egress, listen })) entries.add(wish);
  }
  return entries.all;
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

/** Requests through a unix socket or to a proxy name host and port themselves, so that any port will do. */
function onlyPort({ ports }: Service, protocol: Protocol, listenPort: number): ServicePort | undefined {
  const isNamedByRequest = (listenPort === 0 && isHttp(protocol)) || protocol === "HTTP_PROXY";
  return ports.length === 1 || isNamedByRequest ? ports[0] : undefined;
}

interface WishInput {
  readonly scope: OutboundScope;
  readonly accessLogs: AccessLogs;
  readonly rules: HostRules;
  readonly service: Service;
  readonly port: CalledPort;
  readonly place: Place;
}

function buildWish({ scope, accessLogs, rules, service, port, place }: WishInput): Wish {
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

function httpPart(service: Service, protocol: Protocol, port: number, bind: string): HttpPart {
  // A sniffed port at an address of its own has routes of its own: whatever name is called there means the service.
  const isOwn = isSniffed(protocol) && !isWildcardBind(bind);
  const shared = port === 0 ? bind : String(port);
  return {
    routeName: isOwn && port !== 0 ? `${service.hostname}:${port}` : shared,
    grpcWeb: protocol === "GRPC-Web",
    looksUpHosts: isDynamic(service),
    isProxy: protocol === "HTTP_PROXY",
  };
}
