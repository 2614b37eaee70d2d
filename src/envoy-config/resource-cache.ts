import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { EncodedResource } from "../xds/resource-source.ts";

/** Results by name, each good while its inputs are the same values. */
interface ResultCache<Result> {
  memoize(name: string, inputs: readonly unknown[], make: () => Result): Result;
  /** Evicts names that `keep` does not have. */
  retain(keep: ReadonlySet<string>): void;
}

/** Hits, misses and size, for metrics. */
export interface CacheCounts {
  hits: number;
  misses: number;
  /** Results that were forgotten. */
  evictions: number;
  size: number;
}

const MAX_ENTRIES = 60_000;

export function createCacheCounts(): CacheCounts {
  return { hits: 0, misses: 0, evictions: 0, size: 0 };
}

/** Beyond `maxEntries` the oldest are forgotten: clients may ask for any number of subsets that do not exist. */
export function createResultCache<Result>(
  counts: CacheCounts = createCacheCounts(),
  maxEntries = MAX_ENTRIES,
): ResultCache<Result> {
  const entries = new Map<string, { readonly inputs: readonly unknown[]; readonly result: Result }>();
  const evict = (name: string) => {
    entries.delete(name);
    counts.size -= 1;
    counts.evictions += 1;
  };
  return {
    memoize(name, inputs, make) {
      const known = entries.get(name);
      if (known !== undefined && sameValues(known.inputs, inputs)) {
        counts.hits += 1;
        return known.result;
      }
      counts.misses += 1;
      const result = make();
      if (known === undefined) counts.size += 1;
      entries.set(name, { inputs, result });
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) evict(oldest);
      return result;
    },
    retain(keep) {
      for (const name of entries.keys()) if (!keep.has(name)) evict(name);
    },
  };
}

function sameValues(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}

/** What outlives a snapshot: results that stay good while their inputs stay the same. */
export interface ScopeCache {
  readonly clusters: ResultCache<readonly EncodedResource[]>;
  readonly endpoints: ResultCache<readonly EncodedResource[]>;
  readonly counts: CacheCounts;
}

interface ScopeCaches {
  of(scope: OutboundScope): ScopeCache;
  clear(): void;
}

/** A scope that no proxy asked about during so many snapshots is evicted. */
const MAX_IDLE_SNAPSHOTS = 4;
const NOTHING: ReadonlySet<string> = new Set();

export function createScopeCaches(counts: CacheCounts): ScopeCaches {
  const known = new Map<string, { readonly cache: ScopeCache; seen: number }>();
  let version = "";
  let generation = 0;
  const evict = (key: string, { clusters, endpoints }: ScopeCache) => {
    known.delete(key);
    clusters.retain(NOTHING);
    endpoints.retain(NOTHING);
  };
  const evictIdle = () => {
    for (const [key, { cache, seen }] of known) if (generation - seen > MAX_IDLE_SNAPSHOTS) evict(key, cache);
  };
  return {
    of(scope) {
      if (scope.snapshot.version !== version) {
        version = scope.snapshot.version;
        generation += 1;
        evictIdle();
      }
      const entry = known.get(scope.key) ?? { cache: createScopeCache(counts), seen: generation };
      entry.seen = generation;
      known.set(scope.key, entry);
      return entry.cache;
    },
    clear() {
      for (const [key, { cache }] of known) evict(key, cache);
    },
  };
}

function createScopeCache(counts: CacheCounts): ScopeCache {
  return { clusters: createResultCache(counts), endpoints: createResultCache(counts), counts };
}
