/** Results by name, each good while its inputs are the same values. */
export interface Memory<Result> {
  recall(name: string, inputs: readonly unknown[], make: () => Result): Result;
  /** Forgets names that `keep` does not have. */
  retain(keep: ReadonlySet<string>): void;
}

export function createMemory<Result>(): Memory<Result> {
  const entries = new Map<string, { readonly inputs: readonly unknown[]; readonly result: Result }>();
  return {
    recall(name, inputs, make) {
      const known = entries.get(name);
      if (known !== undefined && sameValues(known.inputs, inputs)) return known.result;
      const result = make();
      entries.set(name, { inputs, result });
      return result;
    },
    retain(keep) {
      for (const name of entries.keys()) if (!keep.has(name)) entries.delete(name);
    },
  };
}

function sameValues(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}
