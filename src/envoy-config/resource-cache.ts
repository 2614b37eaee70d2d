import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { EncodedResource } from "../xds/resource-source.ts";

/** Results by name, each good while its inputs are the same values. */
interface Memory<Result> {
  recall(name: string, inputs: readonly unknown[], make: () => Result): Result;
  /** Forgets names that `keep` does not have. */
  retain(keep: ReadonlySet<string>): void;
}

/** What memories did and hold, for figures. */
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

/** Beyond `maxEntries` the oldest are forgotten: clients may ask for subsets that nobody has, as many as they like. */
export function createMemory<Result>(
  counts: CacheCounts = createCacheCounts(),
  maxEntries = MAX_ENTRIES,
): Memory<Result> {
  const entries = new Map<string, { readonly inputs: readonly unknown[]; readonly result: Result }>();
  const forget = (name: string) => {
    entries.delete(name);
    counts.size -= 1;
    counts.evictions += 1;
  };
  return {
    recall(name, inputs, make) {
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
      if (entries.size > maxEntries && oldest !== undefined) forget(oldest);
      return result;
    },
    retain(keep) {
      for (const name of entries.keys()) if (!keep.has(name)) forget(name);
    },
  };
}

function sameValues(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}

/** What outlives a snapshot: results that stay good while their inputs stay the same. */
export interface ScopeMemory {
  readonly clusters: Memory<readonly EncodedResource[]>;
  readonly endpoints: Memory<readonly EncodedResource[]>;
  readonly counts: CacheCounts;
}

interface ScopeMemories {
  of(scope: OutboundScope): ScopeMemory;
  clear(): void;
}

/** A scope that nobody asked about during so many snapshots is forgotten. */
const KEPT_SNAPSHOTS = 4;
const NOTHING: ReadonlySet<string> = new Set();

export function createScopeMemories(counts: CacheCounts): ScopeMemories {
  const known = new Map<string, { readonly memory: ScopeMemory; seen: number }>();
  let version = "";
  let generation = 0;
  const forget = (key: string, { clusters, endpoints }: ScopeMemory) => {
    known.delete(key);
    clusters.retain(NOTHING);
    endpoints.retain(NOTHING);
  };
  const forgetOld = () => {
    for (const [key, { memory, seen }] of known) if (generation - seen > KEPT_SNAPSHOTS) forget(key, memory);
  };
  return {
    of(scope) {
      if (scope.snapshot.version !== version) {
        version = scope.snapshot.version;
        generation += 1;
        forgetOld();
      }
      const entry = known.get(scope.key) ?? { memory: createScopeMemory(counts), seen: generation };
      entry.seen = generation;
      known.set(scope.key, entry);
      return entry.memory;
    },
    clear() {
      for (const [key, { memory }] of known) forget(key, memory);
    },
  };
}

function createScopeMemory(counts: CacheCounts): ScopeMemory {
  return { clusters: createMemory(counts), endpoints: createMemory(counts), counts };
}
