import { randomInt } from "node:crypto";
import type { Logger } from "../base/logger.ts";
import { canonicalName, type DomainName } from "../protocol/dns/name.ts";
import type { TlsRelay } from "./compat/tls-relay.ts";
import { proxyScope } from "./core/alternate-hosts.ts";
import type { DnsRules } from "./core/generations.ts";
import type { TableOptions } from "./core/name-table.ts";
import { createRandom16, type Random16 } from "./core/shuffle.ts";
import { createForwarder, type Forwarder } from "./forwarder.ts";
import type { DnsMetrics } from "./metrics.ts";
import type { PortOwners } from "./port-owners.ts";
import { createQueryHandler, type QueryHandler } from "./query-handler.ts";
import { createTcpUpstream } from "./tcp-upstream.ts";
import { createUdpUpstream } from "./udp-upstream.ts";

/** What every thread that answers has to know. Plain data: it travels to workers as it is. */
export interface ResolverSettings {
  readonly rules: DnsRules;
  readonly proxyNamespace: string;
  readonly proxyDomain: string;
  readonly ttlSeconds: number;
  readonly forwardsOtherTypes: boolean;
  readonly forwardsBeforeSync: boolean;
  readonly forwardTimeoutMs: number;
  readonly forwardsInParallel: boolean;
  readonly maxForwards: number;
  readonly queriesPerSocket: number;
  readonly upstreamPort: number;
}

export interface ResolverParts {
  readonly log: Logger;
  readonly metrics: DnsMetrics;
  readonly random?: Random16 | undefined;
  readonly relay?: TlsRelay | undefined;
  /** Given where several threads forward. */
  readonly ports?: PortOwners | undefined;
}

/** What resolv.conf says, as the resolver uses it. */
export interface ResolverConfig {
  readonly search: DomainName | undefined;
  readonly servers: readonly string[];
}

export interface Resolver {
  readonly handler: QueryHandler;
  configure(config: ResolverConfig): void;
  /** Queries that wait for upstream get SERVFAIL. */
  stop(): Promise<void>;
}

/** Everything between a query and its answer except the sockets of the clients. Each thread has its own. */
export function createResolver(settings: ResolverSettings, parts: ResolverParts): Resolver {
  const { log, metrics } = parts;
  const { rules } = settings;
  const random = parts.random ?? createRandom16(randomInt(2 ** 31));
  const udp = createUdpUpstream(settings.upstreamPort, settings.queriesPerSocket, parts.ports);
  const tcp = createTcpUpstream(settings.upstreamPort);
  const forwarder: Forwarder = createForwarder({
    udp,
    tcp,
    timeoutMs: settings.forwardTimeoutMs,
    parallel: settings.forwardsInParallel,
    maxForwards: settings.maxForwards,
    shuffleServers: rules.shufflesServers ? random : undefined,
    log,
    metrics,
  });
  const handler = createQueryHandler({
    rules,
    forwardsOtherTypes: settings.forwardsOtherTypes,
    forwardsBeforeSync: settings.forwardsBeforeSync,
    random,
    forwarder,
    relay: parts.relay,
    isLoop: (transport, port, message) => (transport === "udp" ? udp : tcp).isOwn(port, message),
    log,
    metrics,
  });
  return {
    handler,
    configure({ search, servers }) {
      handler.setSearch(search);
      forwarder.setServers(servers);
    },
    stop: () => forwarder.stop(),
  };
}

export function tableOptions(settings: ResolverSettings): TableOptions {
  const { altHosts, wildcards } = settings.rules;
  const scope = proxyScope(settings.proxyNamespace, settings.proxyDomain);
  return { scope, ttlSeconds: settings.ttlSeconds, altHosts, wildcards };
}

/** Only the first search domain matters: resolvers ask in the order of their list. */
export function searchName(search: readonly string[]): DomainName | undefined {
  return search[0] === undefined ? undefined : canonicalName(search[0]);
}
