import { networkInterfaces } from "node:os";
import { startAlignedInterval } from "../base/aligned-interval.ts";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type HostPort, joinHostPort } from "../net/host-port.ts";
import { isIP } from "../net/ip.ts";
import { DnsError } from "./errors.ts";
import { createLogLimit } from "./log-limit.ts";
import type { DnsLimits, Transport } from "./options.ts";
import type { QueryHandler } from "./query-handler.ts";
import { startTcpListener, type TcpListener } from "./tcp-listener.ts";
import { startUdpListener, type UdpListener } from "./udp-listener.ts";
import { createUdpSockets } from "./udp-sockets.ts";

/** An address that stays out of reach is worth a line a minute. */
const FAILURE_LOG_INTERVAL_MS = 60_000;

export interface Listeners {
  readonly addresses: readonly HostPort[];
  /** All of them now; more than `addresses` when one is a wildcard. */
  udpAddresses(): readonly HostPort[];
  /** From now on a wildcard serves addresses that appear later too. `onChange` hears of each change. */
  follow(onChange: () => void): void;
  stop(): Promise<void>;
}

/** Another program may hold the TCP side of a UDP port the kernel chose. */
const FREE_PORT_ATTEMPTS = 10;

export interface ListenersOptions {
  readonly handler: QueryHandler;
  readonly limits: DnsLimits;
  /** Whether other threads will bind the UDP ports too. */
  readonly sharesUdp: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal | undefined;
}

/** Binds UDP and TCP on all addresses, or none. Port 0 becomes the same free port everywhere. */
export async function startListeners(requested: readonly HostPort[], options: ListenersOptions): Promise<Listeners> {
  const { log } = options;
  const anyPort = requested.some(({ port }) => port === 0);
  for (let attempt = 1; ; attempt++) {
    const failedOn = new Map<unknown, string>();
    try {
      return await bindAll(requested, options, failedOn);
    } catch (failure) {
      if (!(failure instanceof DnsError)) throw failure;
      if (anyPort && failure.code === "address-in-use" && attempt < FREE_PORT_ATTEMPTS) continue;
      log.error(`Failed to listen on ${failedOn.get(failure) ?? "any port"}: ${failure.message}`);
      throw failure;
    }
  }
}

async function bindAll(
  requested: readonly HostPort[],
  options: ListenersOptions,
  failedOn: Map<unknown, string>,
): Promise<Listeners> {
  const { handler, limits, log, signal } = options;
  await using opened = new CloseStack();
  const addresses: HostPort[] = [];
  const single: UdpListener[] = [];
  const wildcards: WildcardSockets[] = [];
  const lines: string[] = [];
  let chosenPort = 0;
  const start = async <Listener extends UdpListener | TcpListener>(
    protocol: Transport,
    { host, port }: HostPort,
    bind: (address: HostPort) => Promise<Listener>,
  ): Promise<Listener> => {
    const asked = { host, port: port || chosenPort };
    try {
      const listener = await bind(asked);
      chosenPort ||= listener.address.port;
      return listener;
    } catch (failure) {
      failedOn.set(failure, `${protocol} port ${joinHostPort(asked.host, asked.port)}`);
      throw failure;
    }
  };
  const startUdp = (address: HostPort) =>
    start("udp", address, (asked) => startUdpListener(asked, handler, log, options.sharesUdp ? "shared" : "alone"));
  const started = (protocol: Transport, bound: readonly HostPort[]) => {
    for (const address of bound)
      lines.push(`Starting local ${protocol} DNS server on ${joinHostPort(address.host, address.port)}`);
    signal?.throwIfAborted();
  };
  for (const { host: given, port } of requested) {
    const host = await bindableHost(given);
    if (isWildcard(host)) {
      const list = () => localAddresses(host).map((local) => ({ host: local, port }));
      const sockets = opened.add(await startWildcardSockets({ list, start: startUdp, log }));
      wildcards.push(sockets);
      started("udp", sockets.addresses());
    } else {
      const udp = opened.add(await startUdp({ host, port }));
      single.push(udp);
      started("udp", [udp.address]);
    }
    const tcp = await start("tcp", { host, port }, (asked) => startTcpListener(asked, handler, limits, log));
    addresses.push(opened.add(tcp).address);
    started("tcp", [tcp.address]);
  }
  for (const line of lines) log.info(line);
  const owned = opened.move();
  return {
    addresses,
    udpAddresses: () => [
      ...single.map(({ address }) => address),
      ...wildcards.flatMap((sockets) => sockets.addresses()),
    ],
    follow: (onChange) => {
      for (const sockets of wildcards) sockets.follow(limits.addressPollMs, onChange);
    },
    stop: () => owned.close(),
  };
}

/** The IP address to bind for a host; names resolve to their first IPv4 address, else to their first. */
async function bindableHost(host: string): Promise<string> {
  if (isIP(host) !== 0 || isWildcard(host)) return host;
  try {
    const { lookup } = await import("node:dns/promises");
    const found = await lookup(host, { all: true });
    const address = found.find(({ family }) => family === 4) ?? found[0];
    if (address !== undefined) return address.address;
  } catch (cause) {
    throw new DnsError("listen-failed", `listen udp: lookup ${host}: no such host`, { cause });
  }
  throw new DnsError("listen-failed", `listen udp: lookup ${host}: no such host`);
}

function isWildcard(host: string): boolean {
  return host === "" || host === "0.0.0.0" || host === "::";
}

/** Every address of this machine that a wildcard stands for. Binding each one lets replies leave from the address that was asked. */
function localAddresses(wildcard: string): string[] {
  const addresses: string[] = [];
  for (const [name, infos = []] of Object.entries(networkInterfaces())) {
    for (const info of infos) {
      if (info.family === "IPv4") addresses.push(info.address);
      else if (wildcard !== "0.0.0.0") addresses.push(info.scopeid ? `${info.address}%${name}` : info.address);
    }
  }
  return addresses;
}

/** The UDP side of a wildcard: a socket on each address of this machine, so that replies leave from the address that was asked. */
interface WildcardSockets {
  addresses(): HostPort[];
  /** Looks for addresses that appeared or went, again and again. `onChange` hears of each change. */
  follow(pollMs: number, onChange: () => void): void;
  stop(): Promise<void>;
}

interface WildcardSocketsOptions {
  /** The addresses that the wildcard stands for now. */
  readonly list: () => readonly HostPort[];
  readonly start: (address: HostPort) => Promise<UdpListener>;
  readonly log: Logger;
}

/** Rejects when an address that is there cannot be bound; nothing stays open then. */
export async function startWildcardSockets({ list, start, log }: WildcardSocketsOptions): Promise<WildcardSockets> {
  const sockets = createUdpSockets(start);
  const isDue = createLogLimit(FAILURE_LOG_INTERVAL_MS);
  const warn = (failure: unknown) => {
    const text = errorMessage(failure);
    if (isDue(text)) log.warn(`an address of this machine is not served: ${text}`);
  };
  const first = await sockets.update(list());
  if (first.failures.length > 0) {
    await sockets.stop();
    throw first.failures[0];
  }
  const look = async (): Promise<boolean> => {
    const { opened, closed, failures } = await sockets.update(list());
    failures.forEach(warn);
    for (const address of opened)
      log.info(`Starting local udp DNS server on ${joinHostPort(address.host, address.port)}`);
    for (const address of closed)
      log.info(`Local udp DNS server on ${joinHostPort(address.host, address.port)} ended: the address is gone`);
    return opened.length + closed.length > 0;
  };
  // Polling: Node has no notification of address changes.
  let timer: ReturnType<typeof startAlignedInterval> | undefined;
  return {
    addresses: sockets.addresses,
    follow(pollMs, onChange) {
      timer ??= startAlignedInterval(() => void look().then((changed) => changed && onChange(), warn), pollMs);
    },
    async stop() {
      timer?.stop();
      await sockets.stop();
    },
  };
}
