import { createSocket, type Socket } from "node:dgram";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { MAX_TIMER_MS } from "../base/timer-limit.ts";
import type { HostPort } from "../net/host-port.ts";
import { formatIp, type IpAddress, isLoopback, isUnspecified, parseIp } from "../net/ip.ts";
import type { NameTable } from "../xds/name-table.ts";
import { describeTable } from "./core/describe-table.ts";
import { DNS_RULES, type DnsRules } from "./core/generations.ts";
import { DEFAULT_LISTEN, type ListenPlan, planListeners } from "./core/listen-plan.ts";
import type { ResolvConf } from "./core/resolv-conf.ts";
import { DnsError } from "./errors.ts";
import { type Listeners, startListeners } from "./listeners.ts";
import { DEFAULT_LIMITS, type DnsServer, type DnsServerOptions, MAX_THREADS } from "./options.ts";
import { createPortMap, MAIN_THREAD, portOwners } from "./port-owners.ts";
import { fileMayExist, readResolvConf, watchResolvConf } from "./resolv-conf-file.ts";
import { createResolver, type ResolverSettings, searchName, tableOptions } from "./resolver.ts";
import { createTableUpdater } from "./table-updater.ts";
import type { Threads, ThreadsOptions } from "./threads.ts";

const NOT_READY = "istio DNS capture is turned ON and DNS lookup table is not ready yet";
const DEFAULT_TIMEOUT_MS = 5_000;
/** What a timeout of zero means to everybody who configured one. */
const ZERO_TIMEOUT_MS = 2_000;

/** Serves one address, or both loopback ones, on UDP and TCP. When a port is taken the start fails and nothing stays open. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  await using opened = new CloseStack();
  const { log, metrics, signal } = options;
  const rules = options.rules ?? DNS_RULES.master;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const path = await resolvConfPath(options);
  const resolvConf = await loadResolvConf(path, log);
  const plan = planOrThrow(options, resolvConf, rules);
  if (plan.fellBack) log.error("DNS address :53 and not running as root, use default", { address: DEFAULT_LISTEN });

  const threads = await usableThreads(options.relay === undefined ? (options.threads ?? 1) : 1, log);
  const ports = threads > 1 ? createPortMap(threads) : undefined;
  const settings = resolverSettings(options, plan, Math.ceil(limits.maxForwards / threads));
  const relay = options.relay && (await import("./compat/tls-relay.ts")).startTlsRelay(options.relay, log);
  if (relay !== undefined) opened.defer(() => relay.stop());
  const resolver = createResolver(settings, {
    log,
    relay,
    metrics,
    random: options.random16,
    ports: ports && portOwners(ports, MAIN_THREAD),
  });
  const { handler } = resolver;
  signal?.throwIfAborted();
  const listening = { handler, limits, sharesUdp: ports !== undefined, log, signal };
  const listeners = opened.add(await startListeners(plan.addresses, listening));
  const workers =
    ports &&
    opened.add(
      await startWorkers(options, {
        count: threads - 1,
        settings,
        addresses: listeners.udpAddresses(),
        ports,
        log,
        metrics,
      }),
    );
  signal?.throwIfAborted();
  const applyResolvConf = ({ nameservers, search }: ResolvConf) => {
    const servers = usableServers(nameservers, settings.upstreamPort, ownAddresses(listeners), log);
    const config = { search: searchName(search), servers };
    resolver.configure(config);
    workers?.configure(config);
    log.debug("initialized DNS", { search, servers: nameservers });
  };
  applyResolvConf(resolvConf);
  // Closed before the listeners, so that waiting clients get their SERVFAIL.
  opened.defer(async () => {
    await resolver.stop();
    await nextTurn();
  });
  const file = opened.add(await watchResolvConf(path, resolvConf, limits.resolvConfRescanMs, log, applyResolvConf));
  listeners.follow(() => {
    workers?.setAddresses(listeners.udpAddresses());
    applyResolvConf(file.current);
  });

  const building = tableOptions(settings);
  let received: NameTable | undefined;
  const updater = opened.add(
    createTableUpdater(building, (table, source) => {
      handler.setTable(table);
      received = source;
      workers?.setTable(source);
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
      return describeTable(received, building.scope, building.altHosts);
    },
    stop: () => owned.close(),
  });
}

function resolverSettings(options: DnsServerOptions, plan: ListenPlan, maxForwards: number): ResolverSettings {
  return {
    rules: options.rules ?? DNS_RULES.master,
    proxyNamespace: options.proxyNamespace,
    proxyDomain: options.proxyDomain,
    ttlSeconds: options.ttlSeconds ?? 30,
    forwardsOtherTypes: options.forwardsOtherTypes ?? false,
    forwardsBeforeSync: plan.respondsBeforeSync || (options.forwardsBeforeSync ?? false),
    forwardTimeoutMs: usableTimeout(options.forwardTimeoutMs ?? DEFAULT_TIMEOUT_MS, options.log),
    forwardsInParallel: options.forwardMode === "parallel",
    maxForwards,
    queriesPerSocket: options.limits?.queriesPerSocket ?? DEFAULT_LIMITS.queriesPerSocket,
    upstreamPort: options.upstreamPort ?? 53,
  };
}

function usableTimeout(requestedMs: number, log: Logger): number {
  if (requestedMs > 0) return Math.min(requestedMs, MAX_TIMER_MS);
  // No server could answer in less than no time: every query would fail.
  if (requestedMs !== 0) log.warn("the DNS forward timeout must be above 0", { requestedMs, usedMs: ZERO_TIMEOUT_MS });
  return ZERO_TIMEOUT_MS;
}

/** Loaded only when asked for: one thread is the rule. */
async function startWorkers(options: DnsServerOptions, threads: Omit<ThreadsOptions, "url">): Promise<Threads> {
  const { startThreads } = await import("./threads.ts");
  const url = options.workerUrl ?? (await import("./worker-entry.ts")).WORKER_URL;
  return startThreads({ ...threads, url });
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

function ownAddresses(listeners: Listeners): readonly HostPort[] {
  return [...listeners.addresses, ...listeners.udpAddresses()];
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

/** The nameservers that are not this proxy: asking ourselves would go round until every limit is reached. */
export function withoutOwnAddresses(nameservers: readonly string[], port: number, own: readonly HostPort[]): string[] {
  return nameservers.filter((server) => {
    const ip = parseIp(server);
    return ip === undefined || !own.some((address) => address.port === port && isSame(ip, address.host));
  });
}

function isSame(server: IpAddress, host: string): boolean {
  const own = parseIp(host);
  if (host === "" || isUnspecified(own)) return isLoopback(server);
  // The unspecified address as a destination means this machine.
  if (isUnspecified(server)) return isLoopback(own);
  return own !== undefined && formatIp(own) === formatIp(server);
}

/** How many threads will serve. Never an error: one thread always can. `findObstacle` says why sockets cannot share a port. */
export async function usableThreads(
  requested: number,
  log: Logger,
  findObstacle: () => Promise<string | undefined> = whyNoSharedPorts,
): Promise<number> {
  const threads = Math.min(MAX_THREADS, Math.max(1, Math.trunc(requested) || 1));
  if (threads !== requested) log.warn("DNS threads must be 1 to 64", { requested, used: threads });
  if (threads === 1) return 1;
  const obstacle = await findObstacle();
  if (obstacle === undefined) return threads;
  log.warn("one DNS thread serves: UDP sockets cannot share a port here, which takes Linux and Node 22.12 or later", {
    requested,
    cause: obstacle,
  });
  return 1;
}

/** Undefined where several sockets can have one UDP port, else why not. Found out by trying: old runtimes ignore the option silently. */
export async function whyNoSharedPorts(): Promise<string | undefined> {
  const sockets: Socket[] = [];
  try {
    const first = await bindShared(sockets, 0);
    await bindShared(sockets, first.address().port);
    return undefined;
  } catch (failure) {
    return errorMessage(failure);
  } finally {
    await Promise.all(sockets.map((socket) => new Promise<void>((closed) => void socket.close(closed))));
  }
}

async function bindShared(sockets: Socket[], port: number): Promise<Socket> {
  const options = { type: "udp4" as const, reusePort: true };
  const socket = createSocket(options);
  sockets.push(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, resolve);
  });
  return socket;
}
