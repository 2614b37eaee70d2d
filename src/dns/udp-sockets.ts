import { errorCode } from "../base/coded-error.ts";
import type { HostPort } from "../net/host-port.ts";
import type { UdpListener } from "./udp-listener.ts";

/** UDP sockets of one thread, brought in line with a list of addresses that changes. */
export interface UdpSockets {
  addresses(): HostPort[];
  /** Opens what is new and closes what is gone. Calls take turns. Never rejects because an address cannot be bound. */
  update(wanted: readonly HostPort[]): Promise<UdpChange>;
  stop(): Promise<void>;
}

export interface UdpChange {
  readonly opened: readonly HostPort[];
  readonly closed: readonly HostPort[];
  /** Addresses that are not there (any more), or that IPv6 still checks for a double, are not failures: the next update may find them. */
  readonly failures: readonly unknown[];
}

export function createUdpSockets(start: (address: HostPort) => Promise<UdpListener>): UdpSockets {
  const open = new Map<string, UdpListener>();
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
  const closeAllBut = async (wanted: ReadonlySet<string>): Promise<HostPort[]> => {
    const gone = [...open].filter(([host]) => !wanted.has(host));
    for (const [host] of gone) open.delete(host);
    await Promise.all(gone.map(([, listener]) => listener.stop()));
    return gone.map(([, { address }]) => address);
  };
  const update = async (wanted: readonly HostPort[]): Promise<UdpChange> => {
    const closed = await closeAllBut(new Set(wanted.map(({ host }) => host)));
    const opened: HostPort[] = [];
    const failures: unknown[] = [];
    for (const address of wanted) {
      if (open.has(address.host)) continue;
      try {
        const listener = await start(address);
        open.set(address.host, listener);
        opened.push(listener.address);
      } catch (failure) {
        if (!isAbsent(failure)) failures.push(failure);
      }
    }
    return { opened, closed, failures };
  };
  return {
    addresses: () => [...open.values()].map(({ address }) => address),
    update: (wanted) => inTurn(() => update(wanted)),
    stop: () => inTurn(async () => void (await closeAllBut(new Set()))),
  };
}

function isAbsent(failure: unknown): boolean {
  return failure instanceof Error && errorCode(failure.cause) === "EADDRNOTAVAIL";
}
