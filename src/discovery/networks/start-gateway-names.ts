import { lookup } from "node:dns/promises";
import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { sameElements } from "../../mesh-model/lists.ts";

export interface GatewayNamesOptions {
  /** Addresses of some name are others than before. */
  readonly onChange: () => void;
  readonly log: Logger;
  /** The system's resolver when absent. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** How often names are looked up again; 30 s. */
  readonly refreshMs?: number;
}

export interface GatewayNames extends Handle {
  /** From now on these are looked up, and no others. */
  want(names: Iterable<string>): void;
  /** Sorted; empty until the first answer. */
  addresses(name: string): readonly string[];
}

/** Load balancers of some clouds have names and no addresses. A name that stops resolving keeps the addresses it had. */
export function startGatewayNames(options: GatewayNamesOptions): GatewayNames {
  const { onChange, log, resolve = systemAddresses, refreshMs = 30_000 } = options;
  const known = new Map<string, readonly string[]>();
  const failed = new Set<string>();
  let isStopped = false;
  const look = async (name: string): Promise<void> => {
    try {
      const found = [...new Set(await resolve(name))].sort();
      failed.delete(name);
      const before = known.get(name);
      if (isStopped || before === undefined || sameElements(before, found)) return;
      known.set(name, found);
      onChange();
    } catch (thrown) {
      // Once, until it resolves again: it is asked all the time.
      if (!isStopped && !failed.has(name))
        log.warn("the name of a network gateway does not resolve", { name, error: errorMessage(thrown) });
      failed.add(name);
    }
  };
  const timer = setInterval(() => {
    for (const name of known.keys()) void look(name);
  }, refreshMs);
  timer.unref();
  return toHandle({
    want: (names: Iterable<string>) => {
      const wanted = new Set(names);
      for (const name of known.keys()) if (!wanted.has(name)) known.delete(name);
      for (const name of wanted) {
        if (known.has(name)) continue;
        known.set(name, []);
        void look(name);
      }
    },
    addresses: (name: string) => known.get(name) ?? [],
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      clearInterval(timer);
    },
  });
}

async function systemAddresses(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
