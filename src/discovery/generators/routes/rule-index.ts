import { compareSpecificity, hostCovers, isWildcard } from "../../model/hostname.ts";
import { isHttp, isSniffed, parseProtocol } from "../../model/protocol.ts";
import type { Service } from "../../model/service.ts";
import type { EgressListener, VirtualServiceRule } from "../../snapshot/push-snapshot.ts";

/** A host that rules speak of and no registry knows. */
export interface RuleHost {
  readonly host: string;
  readonly rule: VirtualServiceRule;
  /** Where it is served. */
  readonly ports: ReadonlySet<number>;
}

/** What one egress listener shows, by port and by host. */
export interface ListenerIndex {
  /** Services that may get HTTP on the port, in the order in which they win. */
  servicesOn(port: number): readonly Service[];
  /** The rule for a service: of the most specific host, and of those with equal hosts the oldest. */
  ruleFor(host: string): VirtualServiceRule | undefined;
  readonly ruleHosts: readonly RuleHost[];
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
const NONE: readonly Service[] = [];

function buildIndex({ port: own, services, virtualServices }: EgressListener): ListenerIndex {
  // A Sidecar object that says what a port carries knows better than the service.
  const isHttpPort = own !== undefined && isHttp(parseProtocol(own.protocol));
  const byPort = groupByPort(services, isHttpPort ? ({ ports }) => ports.map(({ port }) => port) : httpPorts);
  const byHost = new Map<string, VirtualServiceRule>();
  // A rule without HTTP part must not hide one that has it.
  for (const rule of virtualServices.filter(({ spec }) => spec.http.length > 0)) {
    for (const host of rule.hosts) if (!byHost.has(host)) byHost.set(host, rule);
  }
  const wildcards = [...byHost].filter(([host]) => isWildcard(host)).sort(([a], [b]) => compareSpecificity(a, b));
  const ruleFor = (host: string) => byHost.get(host) ?? wildcards.find(([pattern]) => hostCovers(pattern, host))?.[1];
  return {
    servicesOn: (port) => byPort.get(port) ?? NONE,
    ruleFor,
    ruleHosts: findRuleHosts(services, byHost, ruleFor),
  };
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

function findRuleHosts(
  services: readonly Service[],
  byHost: ReadonlyMap<string, VirtualServiceRule>,
  ruleFor: (host: string) => VirtualServiceRule | undefined,
): readonly RuleHost[] {
  if (byHost.size === 0) return [];
  const byName = new Map(services.map((service) => [service.hostname, service]));
  const registered = new Map<VirtualServiceRule, Set<number>>();
  for (const service of services) {
    const rule = ruleFor(service.hostname);
    if (rule === undefined) continue;
    const ports = registered.get(rule) ?? new Set();
    for (const port of httpPorts(service)) ports.add(port);
    registered.set(rule, ports);
  }
  const isRegistered = (host: string) =>
    isWildcard(host) ? services.some(({ hostname }) => hostCovers(host, hostname)) : byName.has(host);
  return [...byHost]
    .filter(([host]) => !isRegistered(host))
    .map(([host, rule]) => {
      const ports = registered.get(rule);
      return { host, rule, ports: ports === undefined || ports.size === 0 ? ownPorts(rule, byName) : ports };
    });
}

/** A rule whose hosts are all unknown to registries: port 80, the ports it names and those of the services it leads to. */
function ownPorts({ spec }: VirtualServiceRule, byName: ReadonlyMap<string, Service>): ReadonlySet<number> {
  const ports = new Set([80]);
  for (const { match, route } of spec.http) {
    for (const { port } of match) if (port !== 0) ports.add(port);
    for (const { destination } of route) {
      const service = byName.get(destination?.host ?? "");
      if (destination?.port !== undefined) ports.add(destination.port.number);
      else for (const port of service === undefined ? [] : httpPorts(service)) ports.add(port);
    }
  }
  return ports;
}
