import type { RouteDestination, TcpMatch, TlsMatch } from "../../istio-api/specs.ts";
import { isTls, type Protocol } from "../../istio-api/values/protocol.ts";
import type { ScopeTraits, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import { selects } from "../../mesh-model/selector.ts";
import { isDynamic, type Service } from "../../mesh-model/service.ts";
import type { CidrRange } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Filter, FilterChainMatch } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { shortNames } from "../routes/domains.ts";
import { parseCidr } from "../shared/cidr.ts";
import { serverNameLookupFilter } from "../shared/dynamic-dns.ts";
import { type DestinationContext, filterTo, filterToRoute } from "./tcp-proxy.ts";

export interface TcpChain {
  readonly match: FilterChainMatch;
  readonly filters: readonly Filter[];
  /** Host of the service it is for, and the rule it comes from. */
  readonly owners: readonly string[];
  /** A chain without match that could as well be chosen by this server name. */
  readonly serverName?: string;
}

interface TcpChainInput extends DestinationContext {
  readonly service: Service;
  readonly protocol: Protocol;
  /** Of the service, that connections go to without any rule. */
  readonly servicePort: number;
  /** Virtual addresses that are ranges: the listener has every address, so that chains say which they are for. */
  readonly ranges: readonly string[];
  /** Connections to other services come to the same listener and port. */
  readonly isShared: boolean;
  /** Oldest first. */
  readonly rules: readonly VirtualServiceRule[];
}

/** The chains of one service port without HTTP layer: those of rules, then the one without. */
export function buildTcpChains(input: TcpChainInput): readonly TcpChain[] {
  return isTls(input.protocol) ? tlsChains(input) : tcpChains(input);
}

/** One match of a `tls` rule. */
interface TlsRuleMatch {
  readonly rule: VirtualServiceRule;
  readonly match: TlsMatch;
  readonly route: readonly RouteDestination[];
  /** Who is called. */
  readonly host: string;
  /** For a match that names no subnets. */
  readonly ranges?: readonly CidrRange[];
}

/** Undefined where the match cannot hold for such proxies. */
export function buildRuleChain(context: DestinationContext, given: TlsRuleMatch): TcpChain | undefined {
  const { rule, match, route, host, ranges = [] } = given;
  const { scope, listenPort } = context;
  if (!appliesTo(match, scope.traits, listenPort)) return undefined;
  const wanted = listenPort > 0 ? toRanges(match.destinationSubnets) : [];
  const conditions = buildMatch(wanted.length > 0 ? wanted : ranges, serverNames(match.sniHosts));
  const filter = filterToRoute(context, route, ruleName(rule));
  return { match: conditions, filters: [filter], owners: [host, ruleName(rule)] };
}

/** Of several equal matches the first counts. */
function tlsChains(input: TcpChainInput): readonly TcpChain[] {
  const { hostname } = input.service;
  const ranges = toRanges(input.ranges);
  const byRule = input.rules.flatMap((rule) =>
    rule.spec.tls.flatMap(({ match, route }) =>
      match.flatMap((each) => buildRuleChain(input, { rule, match: each, route, host: hostname, ranges }) ?? []),
    ),
  );
  if (byRule.length > 0) return byRule;
  const names = input.isShared ? serverNames([hostname, ...aliasNames(input)]) : [];
  const own = ownChain(input, buildMatch(ranges, names));
  return [names.length > 0 ? own : { ...own, serverName: hostname }];
}

/** Clients may name the service by its aliases, which are not names of its own certificate's making. */
function aliasNames({ service: { aliases = [] }, scope }: TcpChainInput): readonly string[] {
  return aliases.flatMap((alias) => [alias, ...shortNames(alias, scope.traits.dnsDomain)]);
}

/** Rules are tried in their order; one that holds for every address is the last. */
function tcpChains(input: TcpChainInput): readonly TcpChain[] {
  const { hostname } = input.service;
  const ranges = toRanges(input.ranges);
  const chains: TcpChain[] = [];
  for (const rule of input.rules) {
    for (const { match: given, route } of rule.spec.tcp) {
      const applying = given.filter((candidate) => appliesTo(candidate, input.scope.traits, input.listenPort));
      if (given.length > 0 && applying.length === 0) continue;
      const filter = filterToRoute(input, route, ruleName(rule));
      const subnets = applying.map(({ destinationSubnets }) =>
        input.listenPort > 0 ? toRanges(destinationSubnets) : [],
      );
      const isLast = subnets.length === 0 || subnets.some((wanted) => wanted.length === 0);
      const match = buildMatch(isLast ? ranges : unique(subnets.flat()));
      chains.push({ match, filters: [filter], owners: [hostname, ruleName(rule)] });
      if (isLast) return chains;
    }
  }
  return [...chains, ownChain(input, buildMatch(ranges))];
}

function ownChain(input: TcpChainInput, match: FilterChainMatch): TcpChain {
  const { service, servicePort, scope } = input;
  const { hostname } = service;
  const filter = filterTo(input, { host: hostname, port: servicePort, subset: "" });
  const lookup = isDynamic(service) ? [serverNameLookupFilter(scope.traits, servicePort)] : [];
  return { match, filters: [...lookup, filter], owners: [hostname] };
}

function buildMatch(ranges: readonly CidrRange[], names: readonly string[] = []): FilterChainMatch {
  return {
    ...(ranges.length > 0 && { prefixRanges: ranges }),
    ...(names.length > 0 && { serverNames: names }),
  };
}

function ruleName({ object }: VirtualServiceRule): string {
  return `${object.name}.${object.namespace}`;
}

/** `*` is any name at all, which a match says by saying nothing; Envoy compares in lower case. */
function serverNames(hosts: readonly string[]): readonly string[] {
  return hosts.includes("*") ? [] : [...new Set(hosts.map((host) => host.toLowerCase()))];
}

/** Each once, however it was spelled. */
function toRanges(texts: readonly string[]): readonly CidrRange[] {
  return unique(texts.flatMap((text) => parseCidr(text) ?? []));
}

function unique(ranges: readonly CidrRange[]): readonly CidrRange[] {
  return [...new Map(ranges.map((range) => [`${range.addressPrefix}/${range.prefixLen}`, range])).values()];
}

type StaticPredicates = Pick<TcpMatch & TlsMatch, "port" | "sourceLabels" | "sourceNamespace" | "gateways">;

/** Whether a match can hold for connections of such proxies to this port: what is known before any connection is made. */
function appliesTo(match: StaticPredicates, traits: ScopeTraits, port: number): boolean {
  const { gateways, sourceLabels, sourceNamespace } = match;
  if (gateways.length > 0 && !gateways.includes("mesh")) return false;
  if (match.port !== 0 && match.port !== port) return false;
  if (sourceNamespace !== "" && sourceNamespace !== traits.namespace) return false;
  return selects(sourceLabels, traits.labels);
}
