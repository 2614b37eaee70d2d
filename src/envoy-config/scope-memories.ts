import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { EncodedResource } from "../xds/resource-source.ts";
import { type CacheCounts, createMemory, type Memory } from "./memory.ts";

/** What outlives a snapshot: results that stay good while their inputs stay the same. */
export interface ScopeMemory {
  readonly clusters: Memory<readonly EncodedResource[]>;
  readonly endpoints: Memory<readonly EncodedResource[]>;
  readonly counts: CacheCounts;
}

export interface ScopeMemories {
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
