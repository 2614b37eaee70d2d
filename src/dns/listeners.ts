import { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { type HostPort, joinHostPort } from "../net/host-port.ts";
import { DnsError } from "./errors.ts";
import type { DnsLimits, Transport } from "./options.ts";
import type { QueryHandler } from "./query-handler.ts";
import { bindableHost, isWildcard, localAddresses } from "./socket-address.ts";
import { startTcpListener, type TcpListener } from "./tcp-listener.ts";
import { startUdpListener, type UdpListener } from "./udp-listener.ts";
import { startWildcardSockets, type WildcardSockets } from "./wildcard-sockets.ts";

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
