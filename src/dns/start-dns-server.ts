import { randomInt } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { canonicalName } from "../protocol/dns/name.ts";
import type { NameTable } from "../protocol/dns/name-table-message.ts";
import { proxyScope } from "./core/alternate-hosts.ts";
import { describeTable } from "./core/describe-table.ts";
import { type DnsRules, dnsRules } from "./core/generations.ts";
import { DEFAULT_LISTEN, type HostPort, type ListenPlan, planListeners } from "./core/listen-plan.ts";
import type { ResolvConf } from "./core/resolv-conf.ts";
import { createRandom16 } from "./core/shuffle.ts";
import { withoutOwnAddresses } from "./core/upstream-servers.ts";
import { DnsError } from "./errors.ts";
import { createForwarder } from "./forwarder.ts";
import { startListeners } from "./listeners.ts";
import { DEFAULT_LIMITS, type DnsServer, type DnsServerOptions } from "./options.ts";
import { createQueryHandler } from "./query-handler.ts";
import { fileMayExist, readResolvConf, watchResolvConf } from "./resolv-conf-file.ts";
import { createTableUpdater } from "./table-updater.ts";
import { createTcpUpstream } from "./tcp-upstream.ts";
import { createUdpUpstream } from "./udp-upstream.ts";

const NOT_READY = "istio DNS capture is turned ON and DNS lookup table is not ready yet";
const DEFAULT_TIMEOUT_MS = 5_000;
/** What a timeout of zero means to everybody who configured one. */
const ZERO_TIMEOUT_MS = 2_000;

/** Serves one address, or both loopback ones, on UDP and TCP. When a port is taken the start fails and nothing stays open. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  await using opened = new CloseStack();
  const { log, metrics, signal, upstreamPort = 53 } = options;
  const rules = dnsRules(options.generation ?? "master");
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const random = options.random16 ?? createRandom16(randomInt(2 ** 31));
  const path = await resolvConfPath(options);
  const resolvConf = await loadResolvConf(path, log);
  const plan = planOrThrow(options, resolvConf, rules);
  if (plan.fellBack) log.error("DNS address :53 and not running as root, use default", { address: DEFAULT_LISTEN });

  const udp = createUdpUpstream(upstreamPort, limits.queriesPerSocket);
  const tcp = createTcpUpstream(upstreamPort);
  const forwarder = createForwarder({
    udp,
    tcp,
    timeoutMs: (options.forwardTimeoutMs ?? DEFAULT_TIMEOUT_MS) || ZERO_TIMEOUT_MS,
    parallel: options.forwardMode === "parallel",
    maxForwards: limits.maxForwards,
    shuffleServers: rules.shufflesServers ? random : undefined,
    log,
    metrics,
  });
  const handler = createQueryHandler({
    rules,
    forwardsOtherTypes: options.forwardsOtherTypes ?? false,
    forwardsBeforeSync: plan.respondsBeforeSync || (options.forwardsBeforeSync ?? false),
    random,
    forwarder,
    isLoop: (transport, port, message) => (transport === "udp" ? udp : tcp).isOwn(port, message),
    log,
    metrics,
  });
  signal?.throwIfAborted();
  const listeners = opened.add(await startListeners(plan.addresses, handler, limits, log, signal));
  const applyResolvConf = ({ nameservers, search }: ResolvConf) => {
    handler.setSearch(search[0] === undefined ? undefined : canonicalName(search[0]));
    forwarder.setServers(usableServers(nameservers, upstreamPort, listeners.addresses, log));
    log.debug("initialized DNS", { search, servers: nameservers });
  };
  applyResolvConf(resolvConf);
  // Closed before the listeners, so that clients which still wait are told that nothing will come.
  opened.defer(async () => {
    await forwarder.stop();
    await nextTurn();
  });
  opened.add(watchResolvConf(path, resolvConf, limits.resolvConfPollMs, log, applyResolvConf));

  const scope = proxyScope(options.proxyNamespace, options.proxyDomain);
  const { altHosts, wildcards } = rules;
  let received: NameTable | undefined;
  const updater = opened.add(
    createTableUpdater({ scope, ttlSeconds: options.ttlSeconds ?? 30, altHosts, wildcards }, (table, source) => {
      handler.setTable(table);
      received = source;
      log.debug(`updated lookup table with ${table.hosts.size} hosts`);
    }),
  );
  const owned = opened.move();
  return toHandle({
    addresses: listeners.addresses,
    ended: new Promise<void>(() => undefined),
    updateNameTable: updater.update,
    notReadyReason: () => (rules.reportsTable && received === undefined ? NOT_READY : undefined),
    describe: () => {
      if (!rules.reportsTable || received === undefined) return undefined;
      return describeTable(received, scope, altHosts);
    },
    stop: () => owned.close(),
  });
}

/** A machine whose port 53 we take has its real servers put aside in a file of ours. */
async function resolvConfPath(options: DnsServerOptions): Promise<string> {
  const { resolvConfPath = "/etc/resolv.conf", rootResolvConfPath = "/var/lib/istio/resolv.conf" } = options;
  const takesPort53 = options.listen.endsWith(":53") && options.asRoot === true;
  return takesPort53 && (await fileMayExist(rootResolvConfPath)) ? rootResolvConfPath : resolvConfPath;
}

async function loadResolvConf(path: string, log: Logger): Promise<ResolvConf> {
  try {
    return await readResolvConf(path);
  } catch (failure) {
    log.warn(`failed to load ${path}: ${errorMessage(failure)}`);
    throw failure;
  }
}

function planOrThrow(options: DnsServerOptions, resolvConf: ResolvConf, rules: DnsRules): ListenPlan {
  const plan = planListeners(options.listen, options.asRoot ?? false, resolvConf.nameservers);
  if (!("problem" in plan)) return plan;
  const cause = rules.explainsBadAddress ? `: ${plan.problem}` : "";
  throw new DnsError("invalid-address", `dns address must be a valid host:port${cause}`);
}

function usableServers(
  nameservers: readonly string[],
  port: number,
  own: readonly HostPort[],
  log: Logger,
): readonly string[] {
  const usable = withoutOwnAddresses(nameservers, port, own);
  for (const server of nameservers) {
    if (!usable.includes(server)) log.warn("nameserver is this DNS proxy itself and is left out", { server });
  }
  return usable;
}
