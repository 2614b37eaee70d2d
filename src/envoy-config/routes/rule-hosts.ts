import { hostCovers, isWildcard } from "../../istio-api/values/hostname.ts";
import type { VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";

/** A host that rules speak of and that no service has on the port. */
export interface RuleHost {
  readonly host: string;
  /** Those that name it, in the order in which they count. */
  readonly rules: readonly VirtualServiceRule[];
}

export interface RuleHostsInput {
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
export function createRuleHosts(input: RuleHostsInput): (port: number) => readonly RuleHost[] {
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
