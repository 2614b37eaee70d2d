/** Results by name, each good while its inputs are the same values. */
export interface Memory<Result> {
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

export function createCacheCounts(): CacheCounts {
  return { hits: 0, misses: 0, evictions: 0, size: 0 };
}

export function createMemory<Result>(counts: CacheCounts = createCacheCounts()): Memory<Result> {
  const entries = new Map<string, { readonly inputs: readonly unknown[]; readonly result: Result }>();
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
      return result;
    },
    retain(keep) {
      for (const name of entries.keys()) {
        if (keep.has(name)) continue;
        entries.delete(name);
        counts.size -= 1;
        counts.evictions += 1;
      }
    },
  };
}

function sameValues(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}
