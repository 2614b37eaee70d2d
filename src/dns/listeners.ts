import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { HostPort } from "./core/listen-plan.ts";
import { DnsError } from "./errors.ts";
import type { DnsLimits } from "./options.ts";
import type { QueryHandler } from "./query-handler.ts";
import { bindableHost, formatHostPort, isWildcard, localAddresses } from "./socket-address.ts";
import { startTcpListener } from "./tcp-listener.ts";
import { startUdpListener } from "./udp-listener.ts";

export interface Listeners {
  readonly addresses: readonly HostPort[];
  stop(): Promise<void>;
}

/** Another program may hold the TCP side of a UDP port the kernel chose. */
const FREE_PORT_ATTEMPTS = 10;

/** Binds UDP and TCP on all addresses, or none. Port 0 becomes the same free port everywhere. */
export async function startListeners(
  requested: readonly HostPort[],
  handler: QueryHandler,
  limits: DnsLimits,
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<Listeners> {
  const anyPort = requested.some(({ port }) => port === 0);
  for (let attempt = 1; ; attempt++) {
    try {
      return await bindAll(requested, handler, limits, log, signal);
    } catch (failure) {
      const isTaken = failure instanceof DnsError && failure.code === "address-in-use";
      if (!anyPort || !isTaken || attempt === FREE_PORT_ATTEMPTS) throw failure;
    }
  }
}

async function bindAll(
  requested: readonly HostPort[],
  handler: QueryHandler,
  limits: DnsLimits,
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<Listeners> {
  await using opened = new CloseStack();
  const addresses: HostPort[] = [];
  let chosenPort = 0;
  for (const { host: given, port: givenPort } of requested) {
    const host = await bindableHost(given);
    const udpHosts = isWildcard(host) ? localAddresses(host) : [host];
    for (const udpHost of udpHosts) {
      const address = { host: udpHost, port: givenPort || chosenPort };
      const udp = opened.add(await logged("udp", address, log, () => startUdpListener(address, handler, log)));
      chosenPort ||= udp.address.port;
      signal?.throwIfAborted();
    }
    const address = { host, port: givenPort || chosenPort };
    const tcp = opened.add(await logged("tcp", address, log, () => startTcpListener(address, handler, limits, log)));
    chosenPort ||= tcp.address.port;
    signal?.throwIfAborted();
    addresses.push(tcp.address);
  }
  const owned = opened.move();
  return { addresses, stop: () => owned.close() };
}

async function logged<Listener extends { readonly address: HostPort }>(
  protocol: "udp" | "tcp",
  address: HostPort,
  log: Logger,
  start: () => Promise<Listener>,
): Promise<Listener> {
  try {
    const listener = await start();
    log.info(`Starting local ${protocol} DNS server on ${formatHostPort(listener.address)}`);
    return listener;
  } catch (failure) {
    log.error(`Failed to listen on ${protocol} port ${formatHostPort(address)}: ${errorMessage(failure)}`);
    throw failure;
  }
}
