import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { ConsulInstance, HealthCheck, NodeEntry } from "./consul-types.ts";
import type { ConsulClient } from "./create-consul-client.ts";
import { createServiceReader, servicePath } from "./create-service-reader.ts";
import { type BlockingQuery, startBlockingQuery } from "./start-blocking-query.ts";

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
  /** The oldest of the last proofs, by `Date.now`. */
  provedAt(): number | undefined;
}

type Names = Readonly<Record<string, readonly string[]>>;

/** Where a sweep took a second, the next one begins two seconds later at the earliest. */
const REST_FACTOR = 2;
/** Services that a sweep asks for before it looks whether something is urgent, and passes on what it found. */
const PORTION = 200;
/** Services that changed last have a question of their own: what changes once often changes again. */
const FOLLOWED = 32;
const COALESCE_MS = 20;

/**
 * Follows the instances of all services with three open questions, names, checks and nodes, and one for each of the services that changed
 * last; one question per service would be more than the 200 connections that an agent takes from a client. A name that appears, changes its
 * tags, has a changed check or a node with another address is read first; changes that none of them shows (an address of its own, metadata)
 * are found by the sweep that every changed index starts, which asks for the index of each service and reads those that have another one.
 */
export function startCatalogWatch(options: CatalogWatchOptions): CatalogWatch {
  const { client, datacenter, log, onChange, concurrency = 8, waitMs } = options;
  const held = new Map<string, { readonly text: string; readonly nodes: ReadonlySet<string> }>();
  const followed = new Map<string, BlockingQuery>();
  const stopping = new Set<Promise<void>>();
  const urgent = new Set<string>();
  const rest = new Set<string>();
  const ending = new AbortController();
  const { signal } = ending;
  const failures = new Map<string, string>();
  let names: Names = {};
  let checks = new Map<string, string>();
  let nodes = new Map<string, string>();
  let isSynced = false;
  let repaired = 0;
  let nextSweepAt = 0;
  /** What is left of the sweep under way, and how long it took so far. */
  let sweep: readonly string[] = [];
  let sweepMs = 0;
  let readAt: number | undefined;
  const reader = createServiceReader(client, datacenter, signal);
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
  const onNodes = (body: unknown) => {
    const next = new Map((body as readonly NodeEntry[]).map(({ Node, Address }) => [Node, Address]));
    // Nodes that come or go do so with the checks of their services.
    const moved = [...next].filter(([node, address]) => (nodes.get(node) ?? address) !== address);
    nodes = next;
    if (moved.length === 0) return;
    for (const [name, at] of held) if (moved.some(([node]) => at.nodes.has(node))) urgent.add(name);
    wake();
  };
  const finishFirst = () => {
    if (isSynced) return;
    isSynced = true;
    settle();
  };
  /** False where nothing differs from what is held. */
  const hold = (name: string, instances: readonly ConsulInstance[]): boolean => {
    const text = JSON.stringify(instances);
    if ((held.get(name)?.text ?? "[]") === text) return false;
    if (instances.length === 0) {
      held.delete(name);
      reader.forget(name);
    } else held.set(name, { text, nodes: new Set(instances.map(({ node }) => node)) });
    return true;
  };
  const unfollow = (name: string) => {
    const stopped = followed.get(name)?.stop();
    followed.delete(name);
    if (stopped === undefined) return;
    stopping.add(stopped);
    void stopped.finally(() => stopping.delete(stopped));
  };
  const follow = (name: string) => {
    const known = followed.get(name);
    followed.delete(name);
    const query = known ?? watch(servicePath(name), (body) => onFollowed(name, reader.instancesOf(body)), []);
    followed.set(name, query);
    for (const oldest of followed.keys()) if (followed.size > FOLLOWED) unfollow(oldest);
  };
  const onFollowed = (name: string, instances: readonly ConsulInstance[]) => {
    if (hold(name, instances)) onChange(new Map([[name, instances]]));
    if (instances.length === 0) unfollow(name);
  };
  const read = async (name: string, how: "read" | "readChanged"): Promise<readonly ConsulInstance[] | undefined> => {
    try {
      const instances = await reader[how](name);
      readAt = Date.now();
      failures.delete(name);
      return instances;
    } catch (thrown) {
      if (signal.aborted) return undefined;
      if (!failures.has(name)) log.warn("service cannot be read from Consul", { name, error: errorMessage(thrown) });
      failures.set(name, errorMessage(thrown));
      rest.add(name);
      return undefined;
    }
  };
  const take = async (batch: readonly string[], how: "read" | "readChanged") => {
    const changed = new Map<string, readonly ConsulInstance[]>();
    const queue = [...batch];
    const worker = async () => {
      for (let name = queue.pop(); name !== undefined && !signal.aborted; name = queue.pop()) {
        const instances = await read(name, how);
        if (instances !== undefined && hold(name, instances)) changed.set(name, instances);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, batch.length) }, worker));
    if (changed.size === 0 || signal.aborted) return 0;
    onChange(changed);
    // At the start all of them are new.
    if (isSynced) for (const [name, instances] of changed) if (instances.length > 0) follow(name);
    return changed.size;
  };
  /** The next portion. What came up meanwhile is for the next sweep, so that each one ends. */
  const sweepOn = async () => {
    const portion = sweep.slice(0, PORTION);
    sweep = sweep.slice(PORTION);
    const startedAt = Date.now();
    const changed = await take(portion, "readChanged");
    if (isSynced) repaired += changed;
    sweepMs += Date.now() - startedAt;
    if (sweep.length === 0) nextSweepAt = Date.now() + REST_FACTOR * sweepMs;
  };
  const run = async () => {
    while (!signal.aborted) {
      if (urgent.size > 0) {
        const batch = [...urgent];
        urgent.clear();
        for (const name of batch) rest.delete(name);
        await take(batch, "read");
        if (urgent.size === 0) finishFirst();
        continue;
      }
      if (sweep.length > 0) {
        await sweepOn();
        continue;
      }
      const sweepInMs = rest.size === 0 ? Number.POSITIVE_INFINITY : Math.max(0, nextSweepAt - Date.now());
      if (sweepInMs > 0) {
        const woken = new AbortController();
        wake = () => woken.abort();
        await wait(sweepInMs, woken.signal);
        // Changes come in groups: what follows at once is read with it.
        await wait(COALESCE_MS, signal);
        continue;
      }
      sweep = [...rest];
      sweepMs = 0;
      rest.clear();
    }
  };
  const watch = (path: string, onAnswer: (body: unknown) => void, whenAbsent?: unknown) =>
    startBlockingQuery({
      ...(whenAbsent !== undefined && { whenAbsent }),
      client,
      path,
      log,
      onAnswer,
      ...(waitMs !== undefined && { waitMs }),
      onRestart: reader.forgetIndexes,
      onFailure: (failure) => {
        if (failure === undefined) failures.delete(path);
        else failures.set(path, failure.message);
      },
    });
  const opened = new CloseStack();
  const queries = [
    opened.add(watch("/v1/catalog/services", onNames)),
    opened.add(watch("/v1/health/state/any", onChecks)),
    opened.add(watch("/v1/catalog/nodes", onNodes)),
  ];
  const running = run();
  opened.defer(async () => {
    ending.abort();
    wake();
    await running;
    for (const name of [...followed.keys()]) unfollow(name);
    await Promise.all(stopping);
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

function changedKeys(before: ReadonlyMap<string, string>, next: ReadonlyMap<string, string>): readonly string[] {
  const changed = [...next].filter(([name, status]) => before.get(name) !== status).map(([name]) => name);
  return [...changed, ...[...before.keys()].filter((name) => !next.has(name))];
}
