import { isUnixAddress } from "../../istio-api/values/address.ts";
import { compareSpecificity, hostCovers, hostsOverlap, isWildcard } from "../../istio-api/values/hostname.ts";
import { isHttp, isSniffed, type Protocol, parseProtocol } from "../../istio-api/values/protocol.ts";
import type { EgressListener, OutboundScope, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import { findPort, isDynamic, type Service, type ServicePort } from "../../mesh-model/service.ts";
import type { Attempt } from "../shared/attempt.ts";
import type { MetricLogs } from "../telemetry/metrics.ts";
import { bindsOf, isWildcardBind, type ListenerBinds, type ListenOn, listenOn, sharedBinds } from "./addresses.ts";
import type { ListenerConflict } from "./listener-conflict.ts";
import { createOutboundEntries, type HttpPart, type OutboundEntry, type PortEntry } from "./outbound-entry.ts";
import { buildRuleChain, buildTcpChains } from "./tcp-chains.ts";

type Report = (conflict: ListenerConflict) => void;

/** All services that the proxy may call, sorted into listeners by address and port. */
export function collectEntries(
  scope: OutboundScope,
  reporting: MetricLogs,
  report: Report,
  attempt: Attempt,
): Iterable<OutboundEntry> {
  const entries = createOutboundEntries(report);
  for (const egress of scope.egress) {
    // Ports that a Sidecar object names are as it says; the listener without port adds all others.
    if (egress.port === undefined) entries.lock();
    const listen = listenOn(scope, egress);
    const rules = createHostRules(egress.virtualServices);
    for (const service of egress.services) {
      if (service.resolution === "Alias") continue;
      const own = attempt(
        service.hostname,
        () =>
          calledPorts(service, egress).flatMap((port) =>
            bindsOf(scope, listen, service, port).map((listener) =>
              buildPortEntry({ scope, reporting, rules, service, port, listener }),
            ),
          ),
        service,
      );
      for (const entry of own ?? []) entries.add(entry);
    }
    for (const entry of unregisteredHosts({ scope, reporting, egress, listen, attempt })) entries.add(entry);
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

interface PortEntryInput {
  readonly scope: OutboundScope;
  readonly reporting: MetricLogs;
  readonly rules: HostRules;
  readonly service: Service;
  readonly port: CalledPort;
  readonly listener: ListenerBinds;
}

function buildPortEntry({ scope, reporting, rules, service, port, listener }: PortEntryInput): PortEntry {
  const { number, protocol, servicePort } = port;
  const { binds, isBound } = listener;
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
          accessLog: reporting.tcp,
          service,
          protocol,
          servicePort: servicePort.port,
          ranges: listener.ranges,
          isShared: listener.isShared,
          rules: rules.of(service.hostname),
        }),
  };
}

function httpPart(service: Service, protocol: Protocol, port: number, bind: string): HttpPart {
  // A sniffed port at an address of its own has routes of its own: every name that is called there means the service.
  const isOwn = isSniffed(protocol) && !isWildcardBind(bind);
  const shared = port === 0 ? bind : String(port);
  return {
    routeName: isOwn && port !== 0 ? `${service.hostname}:${port}` : shared,
    grpcWeb: protocol === "GRPC-Web",
    looksUpHosts: isDynamic(service),
    isProxy: protocol === "HTTP_PROXY",
  };
}

const HTTPS_PORT = 443;

interface UnregisteredInput {
  readonly scope: OutboundScope;
  readonly reporting: MetricLogs;
  readonly egress: EgressListener;
  readonly listen: ListenOn;
  readonly attempt: Attempt;
}

/**
 * Rules about TLS to hosts that are not services: their server names are matched on the port of the rule, 443 if it names none. Without
 * this such a rule would do nothing, and connections that it allows would be refused where only known services may be called.
 */
function unregisteredHosts(input: UnregisteredInput): readonly PortEntry[] {
  const isService = createServiceTest(input.scope);
  const entriesOf = (rule: VirtualServiceRule) => {
    const hosts = rule.spec.tls.length === 0 ? [] : rule.hosts.filter((host) => !isService(host));
    return hosts.length === 0 ? [] : portEntriesOf(input, rule, hosts);
  };
  return input.egress.virtualServices.flatMap(
    (rule) => input.attempt(rule.hosts[0] ?? "", () => entriesOf(rule), rule.object) ?? [],
  );
}

function portEntriesOf(
  input: UnregisteredInput,
  rule: VirtualServiceRule,
  hosts: readonly string[],
): readonly PortEntry[] {
  const { scope, reporting, egress, listen } = input;
  const { binds, isBound } = sharedBinds(scope, listen);
  return rule.spec.tls.flatMap(({ match, route }) =>
    match.flatMap((given): readonly PortEntry[] => {
      const sniHosts = given.sniHosts.filter((name) => hosts.some((host) => hostCovers(host, name)));
      const [host] = sniHosts;
      const port = given.port === 0 ? HTTPS_PORT : given.port;
      if (host === undefined || (egress.port !== undefined && egress.port.number !== port)) return [];
      const context = { scope, listenPort: port, accessLog: reporting.tcp };
      const chain = buildRuleChain(context, { rule, match: { ...given, sniHosts }, route, host });
      return chain === undefined ? [] : [{ binds, port, isBound, protocol: "TLS", owner: host, tcp: [chain] }];
    }),
  );
}

/** Names are looked up; only wildcards are compared one by one. */
function createServiceTest(scope: OutboundScope): (host: string) => boolean {
  let wildcards: readonly string[] | undefined;
  return (host) => {
    if (scope.service(host) !== undefined) return true;
    if (isWildcard(host)) return scope.services.some(({ hostname }) => hostsOverlap(hostname, host));
    wildcards ??= scope.services.map(({ hostname }) => hostname).filter(isWildcard);
    return wildcards.some((hostname) => hostCovers(hostname, host));
  };
}

/** Rules with `tcp` or `tls` blocks, by the hosts they are for. */
interface HostRules {
  /** Those that cover the host: the most specific host first, then the oldest rule. */
  of(hostname: string): readonly VirtualServiceRule[];
}

/** Rules for names are found by name; only rules for wildcards are tried one by one. */
function createHostRules(rules: readonly VirtualServiceRule[]): HostRules {
  const exact = new Map<string, VirtualServiceRule[]>();
  const wildcards: { readonly host: string; readonly rule: VirtualServiceRule }[] = [];
  for (const rule of rules) {
    if (rule.spec.tcp.length + rule.spec.tls.length === 0) continue;
    for (const host of rule.hosts) {
      if (isWildcard(host)) wildcards.push({ host, rule });
      else exact.set(host, [...(exact.get(host) ?? []), rule]);
    }
  }
  // A stable sort: equally specific ones stay in the order of their age.
  wildcards.sort((a, b) => compareSpecificity(a.host, b.host));
  return {
    of(hostname) {
      const covering = wildcards.filter(({ host }) => hostCovers(host, hostname)).map(({ rule }) => rule);
      const named = exact.get(hostname) ?? [];
      return covering.length === 0 ? named : [...new Set([...named, ...covering])];
    },
  };
}
