import { errorMessage } from "../../base/coded-error.ts";
import { toHandle } from "../../base/handle.ts";
import { wait } from "../../base/wait.ts";
import { KubernetesError } from "../kubernetes-error.ts";
import { objectKey } from "../objects.ts";
import { type Comparison, compareStore } from "./compare-store.ts";
import { DEFAULT_COMPARISONS, startComparisons } from "./comparison-schedule.ts";
import { listPages } from "./list-pages.ts";
import { ObjectStore, type Sweep } from "./object-store.ts";
import { FailureDelay, isOlderVersion, type Phase, recoveryOf } from "./recovery.ts";
import type { Freshness, Reflector, ReflectorOptions } from "./reflector.ts";

/** A watch that ends sooner, without an event, is a failure: it would be opened again without a pause. */
const SHORTEST_WATCH_MS = 1000;
const MIN_WATCH_SECONDS = 5 * 60;

/** Never ends by itself: failures are logged, counted and retried until it is stopped. */
export function startReflector<Reduced>(options: ReflectorOptions<Reduced>): Reflector<Reduced> {
  const { client, resource, shape, log, metrics } = options;
  const label = resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
  const by = [options.cluster ?? "", label];
  const stopped = new AbortController();
  const { signal } = stopped;
  const store = new ObjectStore<Reduced>({
    reduce: options.reduce,
    ...(options.onVersion && { onVersion: options.onVersion }),
    onReduceFailure: (key, failure) =>
      log.error("object cannot be used", { resource: label, object: key, error: errorMessage(failure) }),
    onChange(key, after, before) {
      metrics.objects.set(store.size, by);
      try {
        options.onChange(key, after, before);
      } catch (failure) {
        log.error("change of an object was not handled", {
          resource: label,
          object: key,
          error: errorMessage(failure),
        });
      }
    },
  });
  const delay = new FailureDelay(options.backoff);
  const synced = deferred();

  let version: string | undefined;
  let next: "watch" | "list" | "list-latest" = "list";
  let pages: "once" | "always" | undefined;
  let phase: Phase = "list";
  let isSynced = false;
  let provedAt: number | undefined;
  let state: Freshness["state"] = "listing";
  let problem: KubernetesError | undefined;
  let repaired = 0;
  let complete = 0;

  const prove = () => {
    provedAt = Date.now();
    metrics.lastProof.set(provedAt / 1000, by);
  };
  const listed = (reached: string) => {
    version = reached;
    next = "watch";
    complete += 1;
    problem = undefined;
    state = "watching";
    prove();
    metrics.objects.set(store.size, by);
    if (isSynced) return;
    isSynced = true;
    options.onSynced?.();
    synced.resolve();
  };
  /** A first list may come from the server's memory; a later one must not go back behind what was seen. */
  const listVersion = (first: string) => (next === "list-latest" ? "" : (version ?? first));

  const list = async () => {
    phase = "list";
    metrics.lists.inc([...by, "pages"]);
    const sweep = () => store.sweep();
    listed(await listPages({ client, resource, resourceVersion: listVersion("0"), shape, sweep, signal }));
    if (pages === "once") pages = undefined;
  };

  /** Opens a watch and follows it to its end; with `sweep` it sends everything that is there first. */
  const watch = async (sweep: Sweep | undefined) => {
    phase = sweep === undefined ? "open" : "stream";
    const openedAt = performance.now();
    let count = 0;
    let initial = sweep;
    if (sweep !== undefined) metrics.lists.inc([...by, "stream"]);
    const events = await client.watch(resource, {
      resourceVersion: sweep === undefined ? (version ?? "") : listVersion(""),
      timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + Math.random())),
      sendsInitialEvents: sweep !== undefined,
      shape,
      signal,
    });
    if (sweep === undefined) {
      phase = "events";
      state = "watching";
    }
    for await (const event of events) {
      count += 1;
      metrics.events.inc([...by, event.type]);
      if (event.type === "ERROR") throw event.error;
      if (event.type === "BOOKMARK") {
        if (initial !== undefined && !event.endsInitialEvents) continue;
        if (initial === undefined && isOlderVersion(event.resourceVersion, version ?? ""))
          throw wentBack(event.resourceVersion);
        initial?.finish();
        if (initial === undefined) {
          prove();
          problem = undefined;
        } else listed(event.resourceVersion);
        initial = undefined;
        phase = "events";
        version = event.resourceVersion;
        continue;
      }
      if (initial !== undefined) {
        if (event.type === "DELETED") store.remove(objectKey(event.object));
        else initial.add(event.object);
        continue;
      }
      if (event.type === "DELETED") store.remove(objectKey(event.object));
      else store.put(event.object);
      version = event.object.metadata.resourceVersion;
      problem = undefined;
    }
    if (signal.aborted) return;
    const isCut = initial !== undefined || (count === 0 && performance.now() - openedAt < SHORTEST_WATCH_MS);
    if (isCut) throw new KubernetesError("unreachable", `cannot watch ${label}: the server ended the watch at once`);
  };
  const wentBack = (reached: string) =>
    new KubernetesError(
      "resource-version-too-large",
      `the API server's ${label} went back from version ${version} to ${reached}`,
    );

  /** A server that was restored from a backup would leave a watch from a later version silent. */
  const checkVersion = async () => {
    phase = "open";
    const { resourceVersion } = await client.list(resource, { resourceVersion: "", limit: 1, signal });
    if (isOlderVersion(resourceVersion, version ?? "")) throw wentBack(resourceVersion);
  };

  const compare = async (given: AbortSignal): Promise<Comparison> => {
    const before = complete;
    metrics.lists.inc([...by, "comparison"]);
    // Another complete read meanwhile is a proof of its own.
    const isOver = () => complete !== before || signal.aborted || next !== "watch";
    const compared = { client, resource, shape, store, reached: () => version, isOver, signal: given };
    const comparison = await compareStore(compared);
    const kinds = (["missing", "outdated", "leftOver"] as const).filter((kind) => comparison[kind] > 0);
    for (const kind of kinds) {
      metrics.differences.inc([...by, kind], comparison[kind]);
      repaired += comparison[kind];
    }
    if (kinds.length > 0)
      log.error("Kubernetes objects differed from the API server and were repaired", {
        resource: label,
        ...comparison,
      });
    if (comparison.isComplete) prove();
    return comparison;
  };
  const comparisons = startComparisons(options.comparisons ?? DEFAULT_COMPARISONS, async () => {
    if (next !== "watch") return;
    await compare(signal).catch((failure: unknown) => {
      log.debug("comparison with the API server failed", { resource: label, error: errorMessage(failure) });
    });
  });

  const recover = async (failure: unknown) => {
    const error =
      failure instanceof KubernetesError ? failure : new KubernetesError("bad-answer", errorMessage(failure));
    const recovery = recoveryOf(error, phase);
    next = version === undefined && recovery.next === "watch" ? "list" : recovery.next;
    pages = recovery.pages ?? pages;
    metrics.failures.inc([...by, error.code]);
    if (error.code === "unreachable" || error.code === "timeout") comparisons.lost();
    const waitMs = recovery.waitMs ?? delay.next(performance.now());
    const isNew = problem?.message !== error.message;
    problem = error;
    log[isNew && recovery.waitMs !== 0 ? "warn" : "debug"]("Kubernetes objects are not up to date; trying again", {
      resource: label,
      error: error.message,
      waitMs: Math.round(waitMs),
    });
    state = "waiting";
    await wait(waitMs, signal);
    state = "listing";
  };

  const run = async () => {
    let failed = false;
    while (!signal.aborted) {
      try {
        if (next === "watch" && failed) await checkVersion();
        failed = false;
        if (next === "watch") await watch(undefined);
        else if (pages === undefined) await watch(store.sweep());
        else await list();
      } catch (failure) {
        if (signal.aborted) break;
        failed = true;
        await recover(failure);
      }
    }
  };
  const running = run();

  return toHandle({
    ended: new Promise<void>(() => undefined),
    synced: synced.promise,
    get: (key: string) => store.get(key),
    entries: () => store.entries(),
    get size() {
      return store.size;
    },
    freshness: () => ({
      provedAt,
      state,
      resourceVersion: version,
      problem: problem?.message,
      problemCode: problem?.code,
      isSynced,
      objects: store.size,
      repaired,
    }),
    compareWithServer: (given?: AbortSignal) => compare(given ?? signal),
    async stop() {
      stopped.abort(new Error("the reflector was stopped"));
      synced.reject(
        new KubernetesError("cancelled", `the reflector of ${label} was stopped before it had read all objects`),
      );
      await Promise.all([running, comparisons.stop()]);
      metrics.objects.remove(by);
      metrics.lastProof.remove(by);
    },
  });
}

interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(failure: Error): void;
}

/** Its rejection is not unhandled when no owner listens. */
function deferred(): Deferred {
  let settle: Pick<Deferred, "resolve" | "reject"> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => undefined);
  return { promise, resolve: () => settle?.resolve(), reject: (failure) => settle?.reject(failure) };
}
