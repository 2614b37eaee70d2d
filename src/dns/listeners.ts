import { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import type { HostPort } from "./core/listen-plan.ts";
import { DnsError } from "./errors.ts";
import type { DnsLimits, Transport } from "./options.ts";
import type { QueryHandler } from "./query-handler.ts";
import { bindableHost, formatHostPort, isWildcard, localAddresses } from "./socket-address.ts";
import { startTcpListener, type TcpListener } from "./tcp-listener.ts";
import { startUdpListener, type UdpListener } from "./udp-listener.ts";

export interface Listeners {
  readonly addresses: readonly HostPort[];
  /** All of them; more than `addresses` when one is a wildcard. */
  readonly udpAddresses: readonly HostPort[];
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
  const { handler, limits, log, signal } = options;
  const use = options.sharesUdp ? "shared" : "alone";
  const anyPort = requested.some(({ port }) => port === 0);
  const start = (protocol: Transport, address: HostPort) =>
    protocol === "udp" ? startUdpListener(address, handler, log, use) : startTcpListener(address, handler, limits, log);
  for (let attempt = 1; ; attempt++) {
    const sockets: string[] = [];
    try {
      const listeners = await bindAll(requested, signal, (protocol, address) => {
        sockets.push(`${protocol} port ${formatHostPort(address)}`);
        return start(protocol, address);
      });
      for (const { protocol, address } of listeners.bound) {
        log.info(`Starting local ${protocol} DNS server on ${formatHostPort(address)}`);
      }
      return listeners;
    } catch (failure) {
      if (!(failure instanceof DnsError)) throw failure;
      if (anyPort && failure.code === "address-in-use" && attempt < FREE_PORT_ATTEMPTS) continue;
      log.error(`Failed to listen on ${sockets.at(-1) ?? "any port"}: ${failure.message}`);
      throw failure;
    }
  }
}

interface BoundSocket {
  readonly protocol: Transport;
  readonly address: HostPort;
}

type StartListener = (protocol: Transport, address: HostPort) => Promise<UdpListener | TcpListener>;

async function bindAll(
  requested: readonly HostPort[],
  signal: AbortSignal | undefined,
  start: StartListener,
): Promise<Listeners & { readonly bound: readonly BoundSocket[] }> {
  await using opened = new CloseStack();
  const addresses: HostPort[] = [];
  const bound: BoundSocket[] = [];
  let chosenPort = 0;
  const bind = async (protocol: Transport, host: string, port: number): Promise<HostPort> => {
    const { address } = opened.add(await start(protocol, { host, port: port || chosenPort }));
    chosenPort ||= address.port;
    bound.push({ protocol, address });
    signal?.throwIfAborted();
    return address;
  };
  for (const { host: given, port } of requested) {
    const host = await bindableHost(given);
    for (const udpHost of isWildcard(host) ? localAddresses(host) : [host]) await bind("udp", udpHost, port);
    addresses.push(await bind("tcp", host, port));
  }
  const owned = opened.move();
  const udpAddresses = bound.filter(({ protocol }) => protocol === "udp").map(({ address }) => address);
  return { addresses, udpAddresses, bound, stop: () => owned.close() };
}
