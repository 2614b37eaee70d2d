import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import type { ProxyOwner } from "../../files/proxy-file.ts";
import { moduleName } from "../core/image-reference.ts";
import { ModuleIndex, type ModuleKey, pinnedChecksum } from "../core/module-index.ts";
import { printableUrl } from "../core/printable-url.ts";
import type { RemoteModule } from "../core/remote-module.ts";
import type { WasmMetrics } from "../metrics.ts";
import { isWasmModule } from "../unpack/unwrap-module.ts";
import { WasmError } from "../wasm-error.ts";
import { type ModuleFiles, openModuleFiles, sha256 } from "./module-files.ts";

/** One piece of work per key at a time, shared by all who want it while it runs; each waits at most its own time. */
export class Flights<Result> {
  /** Those that others may join. */
  readonly #flying = new Map<string, Flight<Result>>();
  readonly #all = new Set<Flight<Result>>();
  #stopped = false;

  async run(key: string, timeoutMs: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#stopped) throw new WasmError("timeout", "the agent is stopping");
    const flying = this.#flying.get(key);
    // One that was called off ends soon, and not well: whoever comes now has time for another.
    const flight = flying?.controller.signal.aborted === false ? flying : this.#start(key, work, timeoutMs);
    this.#extend(flight, timeoutMs);
    using limit = abortAfter(Math.max(0, timeoutMs));
    let onLimit: () => void = () => undefined;
    const late = new Promise<never>((_resolve, reject) => {
      onLimit = () => reject(new WasmError("timeout", `the module did not arrive within ${timeoutMs} ms`));
      // Its own end comes first when the work was begun for this request: it knows better what was under way.
      limit.signal.addEventListener("abort", () => setImmediate(onLimit), { once: true });
    });
    late.catch(() => undefined);
    return await Promise.race([flight.result, late]);
  }

  /** Ends all work and waits for it; none begins any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { controller } of this.#all) controller.abort();
    await Promise.allSettled([...this.#all].map(({ result }) => result));
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<Result>, timeoutMs: number): Flight<Result> {
    const controller = new AbortController();
    // Without time there is no attempt, not even a quick one.
    if (timeoutMs <= 0) controller.abort();
    const flight: Flight<Result> = {
      controller,
      until: 0,
      timer: undefined,
      result: work(controller.signal).finally(() => {
        clearTimeout(flight.timer);
        this.#all.delete(flight);
        if (this.#flying.get(key) === flight) this.#flying.delete(key);
      }),
    };
    flight.result.catch(() => undefined);
    this.#flying.set(key, flight);
    this.#all.add(flight);
    return flight;
  }

  #extend(flight: Flight<Result>, timeoutMs: number): void {
    const until = performance.now() + timeoutMs;
    if (until <= flight.until) return;
    flight.until = until;
    clearTimeout(flight.timer);
    flight.timer = setTimeout(() => flight.controller.abort(), Math.max(0, timeoutMs));
  }
}

/** A module whose identity is known; its content perhaps not yet. */
export interface FoundModule {
  readonly checksum: string;
  /** All checksums that name it, the one above included. */
  readonly checksums: readonly string[];
  load(): Promise<Buffer>;
}

export interface ModuleCacheOptions {
  /** Absolute. */
  readonly directory: string;
  readonly expiryMs: number;
  readonly purgeIntervalMs: number;
  readonly owner?: ProxyOwner | undefined;
  /** Asks the network; counts its own failures. */
  find(module: RemoteModule, signal: AbortSignal): Promise<FoundModule>;
  /** Files that are not to be purged, however old. */
  isInUse(path: string): boolean;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
  readonly now?: () => number;
}

export interface ModuleCache {
  /** The absolute path of the module's file, fetched when needed. Rejects within the module's time limit. */
  get(module: RemoteModule): Promise<string>;
  purge(): Promise<void>;
  stop(): Promise<void>;
}

interface Stored {
  readonly path: string;
  readonly checksum: string;
}

export function startModuleCache(options: ModuleCacheOptions): ModuleCache {
  const { metrics, log, now = Date.now } = options;
  const index = new ModuleIndex();
  const files = openModuleFiles(options.directory, options.owner);
  const flights = new Flights<Stored>();
  let purging: Promise<void> = Promise.resolve();

  /** In memory, else left by an earlier run; either way only when the file is there. */
  const lookup = async (key: ModuleKey): Promise<Stored | undefined> => {
    const known = index.find(key);
    // Before anything is waited for: the purge looks at both times, that of other agents at the file's.
    if (known !== undefined) known.lastUsedAt = now();
    const path = files.pathOf(key);
    if (path !== undefined) await files.touch(path, now());
    if (known !== undefined && !(await files.isIntact(known.path, known.bytes))) {
      log.warn("a cached Wasm module is gone or damaged, fetching it again", { path: known.path });
      index.remove(key);
    }
    let entry = index.find(key);
    if (entry === undefined) {
      const adopted = await files.adopt(key);
      if (adopted !== undefined) entry = cacheEntry(key, adopted);
    }
    metrics.cacheLookups.inc([String(entry !== undefined)]);
    return entry;
  };

  const cacheEntry = (key: ModuleKey, file: { readonly path: string; readonly bytes: number }) => {
    const entry = { ...key, ...file, lastUsedAt: now() };
    index.add(entry);
    metrics.cacheEntries.set(index.size);
    return entry;
  };

  const fetch = async (module: RemoteModule, signal: AbortSignal): Promise<Stored> => {
    const wanted = pinnedChecksum(module);
    const shown = printableUrl(module.url);
    const found = await options.find(module, signal);
    if (wanted !== "" && !found.checksums.includes(wanted)) {
      metrics.fetches.inc(["checksum_mismatched"]);
      const text = `module downloaded from ${shown} has checksum ${found.checksum}, which does not match: ${wanted}`;
      throw new WasmError("checksum-mismatch", text);
    }
    const key = { name: moduleName(module.url), checksum: found.checksum };
    const cached = wanted === key.checksum ? undefined : await lookup(key);
    if (cached !== undefined) return cached;
    const bytes = await found.load().catch((cause: unknown) => {
      metrics.fetches.inc(["download_failure"]);
      throw cause;
    });
    if (!isWasmModule(bytes)) {
      metrics.fetches.inc(["fetch_failure"]);
      throw new WasmError("invalid-module", `fetched Wasm binary from ${shown} is invalid`);
    }
    metrics.fetches.inc(["success"]);
    const stored = cacheEntry(key, await files.write(key, bytes));
    log.info("fetched a Wasm module", { url: shown, bytes: stored.bytes, path: stored.path });
    return stored;
  };

  const purge = async () => {
    const time = now();
    const limit = time - options.expiryMs;
    for (const entry of index.entries()) {
      if (!options.isInUse(entry.path)) continue;
      entry.lastUsedAt = time;
      await files.touch(entry.path, time);
    }
    for (const entry of index.unusedSince(limit)) {
      // Another agent may use the file still; this one has no use for it, and finds it again when it has.
      if (removeUnused(files, entry.path, limit, log)) index.remove(entry);
    }
    const orphans = await files.olderThan(limit).catch((failure: unknown) => {
      log.warn("cannot look for old Wasm modules", { error: errorMessage(failure) });
      return [];
    });
    for (const path of orphans) {
      if (!index.holds(path) && !options.isInUse(path)) removeUnused(files, path, limit, log);
    }
    metrics.cacheEntries.set(index.size);
  };
  const purgeInTurn = () => {
    purging = purging.then(purge);
    return purging;
  };
  const timer = setInterval(purgeInTurn, Math.min(options.purgeIntervalMs, MAX_TIMER_MS));
  timer.unref();

  return {
    async get(module) {
      const key = { name: moduleName(module.url), checksum: index.known(module) };
      const cached = await lookup(key);
      if (cached !== undefined) {
        index.noteUse(module, cached.checksum);
        return cached.path;
      }
      const secret = module.pullSecret === undefined ? "" : sha256(module.pullSecret.reveal());
      const flightKey = JSON.stringify([module.url, module.checksum, secret]);
      const stored = await flights.run(flightKey, module.timeoutMs, (signal) => fetch(module, signal));
      index.noteUse(module, stored.checksum);
      return stored.path;
    },
    purge: purgeInTurn,
    async stop() {
      clearInterval(timer);
      await flights.stop();
      await purging;
    },
  };
}

/** False when it should be gone and is not. */
function removeUnused(files: ModuleFiles, path: string, since: number, log: Logger): boolean {
  try {
    if (files.removeUnused(path, since)) log.debug(`successfully removed stale Wasm module ${path}`);
    return true;
  } catch (failure) {
    log.error(`failed to purge Wasm module ${path}: ${errorMessage(failure)}`);
    return false;
  }
}

interface Flight<Result> {
  readonly controller: AbortController;
  readonly result: Promise<Result>;
  /** The work ends with the last of those who wait. */
  until: number;
  timer: NodeJS.Timeout | undefined;
}
