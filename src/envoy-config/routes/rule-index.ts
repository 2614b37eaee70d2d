import { compareSpecificity, hostCovers, isWildcard } from "../../istio-api/values/hostname.ts";
import { isHttp, isSniffed, parseProtocol } from "../../istio-api/values/protocol.ts";
import { perValue } from "../../mesh-model/derive/derived-store.ts";
import type { EgressListener, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";

/** What one egress listener shows, by port and by host. */
interface ListenerIndex {
  /** Services that may get HTTP on the port, in the order in which they win. */
  servicesOn(port: number): readonly Service[];
  /**
   * The rules for a service, of which the first counts that has a route for caller and port: all that name it, in their order, else
   * the one with the most specific wildcard.
   */
  rulesFor(host: string): readonly VirtualServiceRule[];
  /** Hosts of rules that have no service on the port. */
  ruleHostsOn(port: number): readonly RuleHost[];
}

/** Built once per listener value; listeners that did not change are the same values in the next snapshot. */
export const listenerIndex: (listener: EgressListener) => ListenerIndex = perValue(buildIndex);

const NO_SERVICES: readonly Service[] = [];
const NO_RULES: readonly VirtualServiceRule[] = [];

function buildIndex({ port: own, services, virtualServices }: EgressListener): ListenerIndex {
  const protocol = parseProtocol(own?.protocol ?? "");
  // A Sidecar object that says what a port carries knows better than the service. Sockets and proxies lead to all ports.
  const isHttpPort = own !== undefined && own.number !== 0 && isHttp(protocol) && protocol !== "HTTP_PROXY";
  const portsOf = isHttpPort ? ({ ports }: Service) => ports.map(({ port }) => port) : httpPorts;
  const byPort = groupByPort(services, portsOf);
  const rulesFor = createRuleChoice(virtualServices);
  return {
    servicesOn: (port) => byPort.get(port) ?? NO_SERVICES,
    rulesFor,
    ruleHostsOn: createRuleHosts({ services, virtualServices, rulesFor, portsOf }),
  };
}

function createRuleChoice(rules: readonly VirtualServiceRule[]): ListenerIndex["rulesFor"] {
  const byHost = new Map<string, VirtualServiceRule[]>();
  for (const rule of rules) {
    for (const host of rule.hosts) {
      const known = byHost.get(host);
      if (known === undefined) byHost.set(host, [rule]);
      else known.push(rule);
    }
  }
  const wildcards = [...byHost]
    .filter(([host]) => isWildcard(host))
    .map(([host, [first]]) => ({ host, rules: first === undefined ? NO_RULES : [first] }))
    .sort((a, b) => compareSpecificity(a.host, b.host));
  return (host) => byHost.get(host) ?? wildcards.find((known) => hostCovers(known.host, host))?.rules ?? NO_RULES;
}

function groupByPort(
  services: readonly Service[],
  portsOf: (service: Service) => readonly number[],
): ReadonlyMap<number, readonly Service[]> {
  const byPort = new Map<number, Service[]>();
  for (const service of services) {
    for (const port of portsOf(service)) {
      const group = byPort.get(port);
      if (group === undefined) byPort.set(port, [service]);
      else group.push(service);
    }
  }
  return byPort;
}

/** Ports that carry HTTP, or may. */
export function httpPorts(service: Service): readonly number[] {
  if (service.resolution === "Alias") return [];
  return service.ports.filter(({ protocol }) => isHttp(protocol) || isSniffed(protocol)).map(({ port }) => port);
}

/** A host that rules speak of and that no service has on the port. */
export interface RuleHost {
  readonly host: string;
  /** Those that name it, in the order in which they count. */
  readonly rules: readonly VirtualServiceRule[];
}

interface RuleHostsInput {
  readonly services: readonly Service[];
  readonly virtualServices: readonly VirtualServiceRule[];
  rulesFor(host: string): readonly VirtualServiceRule[];
  /** Ports of a service that carry HTTP. */
  portsOf(service: Service): readonly number[];
}

/** Where plain HTTP goes that names no port: rules for hosts without service there are always heard. */
const HTTP_PORT = 80;

/**
 * A rule's hosts are served on the ports of those among them that are services, also those of its hosts that are none or have other
 * ports. A rule without any service is served on port 80, on the ports it names and on those it leads to.
 */
function createRuleHosts(input: RuleHostsInput): (port: number) => readonly RuleHost[] {
  const known = new Map<number, readonly RuleHost[]>();
  let ruled: readonly RuledServices[] | undefined;
  return (port) => {
    let hosts = known.get(port);
    if (hosts === undefined) {
      ruled ??= findRuledServices(input);
      hosts = hostsOn(port, ruled);
      known.set(port, hosts);
    }
    return hosts;
  };
}

/** A rule with the services behind its hosts. */
interface RuledServices {
  readonly rule: VirtualServiceRule;
  readonly byHost: readonly { readonly host: string; readonly ports: ReadonlySet<number> }[];
  /** Where a service gets HTTP by this rule. */
  readonly httpPorts: ReadonlySet<number>;
  /** For a rule without services. */
  readonly ownPorts: ReadonlySet<number>;
}

const NO_PORTS: ReadonlySet<number> = new Set();

function findRuledServices({ services, virtualServices, rulesFor, portsOf }: RuleHostsInput): readonly RuledServices[] {
  const byName = new Map(services.map((service) => [service.hostname, service]));
  const servicesOf = (host: string) => {
    if (isWildcard(host)) return services.filter(({ hostname }) => hostCovers(host, hostname));
    const service = byName.get(host);
    return service === undefined ? [] : [service];
  };
  return virtualServices
    .filter(({ spec }) => spec.http.length > 0)
    .map((rule) => {
      const found = rule.hosts.map((host) => ({ host, services: servicesOf(host) }));
      const all = found.flatMap((entry) => entry.services);
      const ruled = all.filter(({ hostname }) => rulesFor(hostname).includes(rule));
      return {
        rule,
        byHost: found.map((entry) => ({ host: entry.host, ports: new Set(entry.services.flatMap(allPorts)) })),
        httpPorts: new Set(ruled.flatMap(portsOf)),
        ownPorts: all.length === 0 ? namedPorts(rule, byName, portsOf) : NO_PORTS,
      };
    });
}

function hostsOn(port: number, ruled: readonly RuledServices[]): readonly RuleHost[] {
  const hosts = new Map<string, VirtualServiceRule[]>();
  for (const { rule, byHost, httpPorts, ownPorts } of ruled) {
    if (port !== HTTP_PORT && !httpPorts.has(port) && !ownPorts.has(port)) continue;
    for (const { host, ports } of byHost) {
      if (ports.has(port)) continue;
      const rules = hosts.get(host);
      if (rules === undefined) hosts.set(host, [rule]);
      else rules.push(rule);
    }
  }
  return [...hosts].map(([host, rules]) => ({ host, rules }));
}

function allPorts({ ports }: Service): readonly number[] {
  return ports.map(({ port }) => port);
}

function namedPorts(
  { spec }: VirtualServiceRule,
  byName: ReadonlyMap<string, Service>,
  portsOf: (service: Service) => readonly number[],
): ReadonlySet<number> {
  const ports = new Set<number>();
  for (const { match, route } of spec.http) {
    for (const { port } of match) if (port !== 0) ports.add(port);
    for (const { destination } of route) {
      const service = byName.get(destination?.host ?? "");
      if (destination?.port !== undefined) ports.add(destination.port.number);
      else for (const port of service === undefined ? [] : portsOf(service)) ports.add(port);
    }
  }
  return ports;
}
