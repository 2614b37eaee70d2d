import { compareSpecificity, hostCovers, isWildcard } from "../../istio-api/values/hostname.ts";
import { isHttp, isSniffed, parseProtocol } from "../../istio-api/values/protocol.ts";
import type { EgressListener, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import { createRuleHosts, type RuleHost } from "./rule-hosts.ts";

/** What one egress listener shows, by port and by host. */
export interface ListenerIndex {
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
export function listenerIndex(listener: EgressListener): ListenerIndex {
  const known = INDEXES.get(listener);
  if (known !== undefined) return known;
  const index = buildIndex(listener);
  INDEXES.set(listener, index);
  return index;
}

const INDEXES = new WeakMap<EgressListener, ListenerIndex>();
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
