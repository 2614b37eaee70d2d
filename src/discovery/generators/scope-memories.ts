import type { EncodedResource } from "../ads-server/resource-source.ts";
import type { OutboundScope } from "../snapshot/push-snapshot.ts";
import { createMemory, type Memory } from "./memory.ts";

/** What outlives a snapshot: results that stay good while their inputs stay the same. */
export interface ScopeMemory {
  readonly clusters: Memory<readonly EncodedResource[]>;
  readonly endpoints: Memory<readonly EncodedResource[]>;
}

/** A scope that nobody asked about during so many snapshots is forgotten. */
const KEPT_SNAPSHOTS = 4;

export function createScopeMemories(): { of(scope: OutboundScope): ScopeMemory } {
  const known = new Map<string, { readonly memory: ScopeMemory; seen: number }>();
  let version = "";
  let generation = 0;
  const forgetOld = () => {
    for (const [key, { seen }] of known) if (generation - seen > KEPT_SNAPSHOTS) known.delete(key);
  };
  return {
    of(scope) {
      if (scope.snapshot.version !== version) {
        version = scope.snapshot.version;
        generation += 1;
        forgetOld();
      }
      const entry = known.get(scope.key) ?? { memory: createScopeMemory(), seen: generation };
      entry.seen = generation;
      known.set(scope.key, entry);
      return entry.memory;
    },
  };
}

function createScopeMemory(): ScopeMemory {
  return { clusters: createMemory(), endpoints: createMemory() };
}
