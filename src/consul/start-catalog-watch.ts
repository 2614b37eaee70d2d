import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import { type ConsulInstance, type HealthCheck, type HealthEntry, toInstance } from "./consul-types.ts";
import type { ConsulClient } from "./create-consul-client.ts";
import { startBlockingQuery } from "./start-blocking-query.ts";

export interface CatalogWatchOptions {
  readonly client: ConsulClient;
  /** What instances carry that name none. */
  readonly datacenter: string;
  readonly log: Logger;
  /** Services with their instances; an empty list means that the service is gone. Only those that differ. */
  onChange(changed: ReadonlyMap<string, readonly ConsulInstance[]>): void;
  /** Read at a time; 8. */
  readonly concurrency?: number;
  readonly waitMs?: number;
}

export interface CatalogWatch extends Handle {
  /** Resolves when every service has been read once. */
  readonly synced: Promise<void>;
  readonly isSynced: boolean;
  /** That have instances. */
  readonly services: number;
  /** Services that a sweep found changed, which neither names nor checks had shown. */
  repaired(): number;
  /** Why the last state may be old; undefined when it is not. */
  failure(): string | undefined;
  /** When Consul last answered anything, by `Date.now`; undefined before the first time. */
  answeredAt(): number | undefined;
  /** The older of the two last proofs, by `Date.now`. */
  provedAt(): number | undefined;
}

type Names = Readonly<Record<string, readonly string[]>>;

/** Where a sweep took a second, the next one begins ten seconds later at the earliest. */
const REST_FACTOR = 10;
const COALESCE_MS = 20;

/**
 * Follows the instances of all services with two open questions, names and checks; one question per service would be more than the 200
 * connections that an agent takes from a client. A name that appears, changes its tags or has a changed check is read first; changes that
 * neither shows (an address, metadata) are found by the sweep that every changed index starts.
 */
export function startCatalogWatch(options: CatalogWatchOptions): CatalogWatch {
  const { client, datacenter, log, onChange, concurrency = 8, waitMs } = options;
  const held = new Map<string, { readonly text: string }>();
  const urgent = new Set<string>();
  const rest = new Set<string>();
  const ending = new AbortController();
  const { signal } = ending;
  const failures = new Map<string, string>();
  let names: Names = {};
  let checks = new Map<string, string>();
  let isSynced = false;
  let repaired = 0;
  let nextSweepAt = 0;
  let readAt: number | undefined;
  let wake: () => void = () => undefined;
  let settle: () => void = () => undefined;
  const synced = new Promise<void>((resolve) => {
    settle = resolve;
  });

  const onNames = (body: unknown) => {
    const next = (body ?? {}) as Names;
    for (const name of new Set([...Object.keys(names), ...Object.keys(next)])) {
      const isSame = String(names[name]) === String(next[name]) && Object.hasOwn(next, name);
      (isSame ? rest : urgent).add(name);
    }
    names = next;
    if (Object.keys(next).length === 0) finishFirst();
    wake();
  };
  const onChecks = (body: unknown) => {
    const next = new Map<string, string>();
    for (const check of body as readonly HealthCheck[]) {
      const { ServiceName = "", Node, CheckID, Status } = check;
      next.set(`${ServiceName}\0${Node}\0${CheckID}`, Status);
    }
    for (const key of changedKeys(checks, next)) {
      const [service = ""] = key.split("\0", 1);
      // A check of a node is one of all its services.
      if (service === "") for (const name of Object.keys(names)) rest.add(name);
      else urgent.add(service);
    }
    checks = next;
    wake();
  };
  const finishFirst = () => {
    if (isSynced) return;
    isSynced = true;
    settle();
  };
  const read = async (name: string): Promise<readonly ConsulInstance[] | undefined> => {
    const path = `/v1/health/service/${encodeURIComponent(name)}`;
    try {
      const { body } = await client.get(path, { signal, whenAbsent: [] });
      readAt = Date.now();
      failures.delete(name);
      return (body as readonly HealthEntry[]).flatMap((entry) => toInstance(entry, datacenter) ?? []);
    } catch (thrown) {
      if (signal.aborted) return undefined;
      if (!failures.has(name)) log.warn("service cannot be read from Consul", { name, error: errorMessage(thrown) });
      failures.set(name, errorMessage(thrown));
      rest.add(name);
      return undefined;
    }
  };
  const take = async (batch: readonly string[]) => {
    const changed = new Map<string, readonly ConsulInstance[]>();
    const queue = [...batch];
    const worker = async () => {
      for (let name = queue.pop(); name !== undefined && !signal.aborted; name = queue.pop()) {
        const instances = await read(name);
        if (instances === undefined) continue;
        const sorted = instances.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
        const text = JSON.stringify(sorted);
        if ((held.get(name)?.text ?? "[]") === text) continue;
        if (sorted.length === 0) held.delete(name);
        else held.set(name, { text });
        changed.set(name, sorted);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, batch.length) }, worker));
    if (changed.size > 0 && !signal.aborted) onChange(changed);
    return changed.size;
  };
  const run = async () => {
    while (!signal.aborted) {
      const sweepInMs = rest.size === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nextSweepAt - Date.now());
      if (urgent.size === 0 && sweepInMs > 0) {
        const woken = new AbortController();
        wake = () => woken.abort();
        await wait(sweepInMs, woken.signal);
        // Changes come in groups: what follows at once is read with it.
        await wait(COALESCE_MS, signal);
        continue;
      }
      const isSweep = urgent.size === 0;
      const batch = isSweep ? [...rest] : [...urgent];
      for (const name of batch) {
        urgent.delete(name);
        rest.delete(name);
      }
      const startedAt = Date.now();
      const changed = await take(batch);
      if (isSweep && isSynced) repaired += changed;
      if (isSweep) nextSweepAt = Date.now() + REST_FACTOR * (Date.now() - startedAt);
      else if (urgent.size === 0) finishFirst();
    }
  };
  const watch = (path: string, onAnswer: (body: unknown) => void) =>
    startBlockingQuery({
      client,
      path,
      log,
      onAnswer,
      ...(waitMs !== undefined && { waitMs }),
      onFailure: (failure) => {
        if (failure === undefined) failures.delete(path);
        else failures.set(path, failure.message);
      },
    });
  const opened = new CloseStack();
  const queries = [
    opened.add(watch("/v1/catalog/services", onNames)),
    opened.add(watch("/v1/health/state/any", onChecks)),
  ];
  const running = run();
  opened.defer(async () => {
    ending.abort();
    wake();
    await running;
  });
  return toHandle({
    synced,
    get isSynced() {
      return isSynced;
    },
    get services() {
      return held.size;
    },
    repaired: () => repaired,
    failure: () => failures.values().next().value,
    answeredAt: () => {
      const times = [readAt, ...queries.map((query) => query.answeredAt())].filter((time) => time !== undefined);
      return times.length === 0 ? undefined : Math.max(...times);
    },
    provedAt: () => {
      const times = queries.map((query) => query.answeredAt());
      return times.includes(undefined) ? undefined : Math.min(...times.map((time) => time ?? 0));
    },
    ended: new Promise<void>(() => undefined),
    stop: () => opened.close(),
  });
}

function key({ node, id }: ConsulInstance): string {
  return `${node}\0${id}`;
}

function changedKeys(before: ReadonlyMap<string, string>, next: ReadonlyMap<string, string>): readonly string[] {
  const changed = [...next].filter(([name, status]) => before.get(name) !== status).map(([name]) => name);
  return [...changed, ...[...before.keys()].filter((name) => !next.has(name))];
}
