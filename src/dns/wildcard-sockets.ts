import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type HostPort, joinHostPort } from "../net/host-port.ts";
import { createLogLimit } from "./log-limit.ts";
import type { UdpListener } from "./udp-listener.ts";
import { createUdpSockets } from "./udp-sockets.ts";

/** The UDP side of a wildcard: a socket on each address of this machine, so that replies leave from the address that was asked. */
export interface WildcardSockets {
  addresses(): HostPort[];
  /** Looks for addresses that appeared or went, again and again. `onChange` hears of each change. */
  follow(pollMs: number, onChange: () => void): void;
  stop(): Promise<void>;
}

export interface WildcardSocketsOptions {
  /** The addresses that the wildcard stands for now. */
  readonly list: () => readonly HostPort[];
  readonly start: (address: HostPort) => Promise<UdpListener>;
  readonly log: Logger;
}

/** An address that stays out of reach is worth a line a minute. */
const FAILURE_LOG_INTERVAL_MS = 60_000;

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
  let timer: NodeJS.Timeout | undefined;
  return {
    addresses: sockets.addresses,
    follow(pollMs, onChange) {
      timer ??= setInterval(() => void look().then((changed) => changed && onChange(), warn), pollMs).unref();
    },
    async stop() {
      clearInterval(timer);
      await sockets.stop();
    },
  };
}
