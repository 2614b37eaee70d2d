/** What Envoy counted between `lower` and `lower + width`, in milliseconds, since it started. */
export interface Bin {
  readonly lower: number;
  readonly width: number;
  readonly count: number;
}

/** What came since; all of it when the earlier one is of an Envoy that has ended. */
export function binsSince(now: readonly Bin[], before: readonly Bin[] = []): readonly Bin[] {
  const counted = new Map(now.map(({ lower, count }) => [lower, count]));
  if (before.some(({ lower, count }) => count > (counted.get(lower) ?? 0))) return now;
  const earlier = new Map(before.map(({ lower, count }) => [lower, count]));
  return now.flatMap(({ lower, width, count }) => {
    const more = count - (earlier.get(lower) ?? 0);
    return more > 0 ? [{ lower, width, count: more }] : [];
  });
}

/** Of several Envoys together. */
export function addBins(lists: readonly (readonly Bin[])[]): readonly Bin[] {
  const sums = new Map<number, Bin>();
  for (const bin of lists.flat()) {
    const { count = 0 } = sums.get(bin.lower) ?? {};
    sums.set(bin.lower, { ...bin, count: bin.count + count });
  }
  return [...sums.values()].sort((a, b) => a.lower - b.lower);
}

/** Within a bin values are taken as spread evenly; undefined when nothing was counted. */
export function quantile(bins: readonly Bin[], share: number): number | undefined {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return undefined;
  const wanted = share * total;
  let passed = 0;
  for (const { lower, width, count } of bins) {
    if (passed + count >= wanted) return round(lower + (width * (wanted - passed)) / count);
    passed += count;
  }
  const last = bins.at(-1);
  return last && round(last.lower + last.width);
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
