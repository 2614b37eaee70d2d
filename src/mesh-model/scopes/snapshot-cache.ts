/** Values computed on first use in one snapshot, with access to those of earlier snapshots. */
export interface SnapshotCache<Value> {
  /** Makes the value at first use; `make` gets the last one made under this key, if it was not long ago. */
  getOrBuild(key: string, make: (before: Value | undefined) => Value): Value;
  /** For the snapshot that follows: the last value of each key and how many snapshots went by without its use. */
  latest(): ReadonlyMap<string, CachedValue<Value>>;
}

interface CachedValue<Value> {
  readonly value: Value;
  readonly idle: number;
}

/** Snapshots may follow each other faster than proxies ask; beyond this, a key's proxies have left. */
const MAX_IDLE_SNAPSHOTS = 8;

export function createSnapshotCache<Value>(previous?: SnapshotCache<Value>): SnapshotCache<Value> {
  // The map, not `previous` itself: otherwise every snapshot would hold all that were before it.
  const earlier = previous?.latest() ?? new Map<string, CachedValue<Value>>();
  const own = new Map<string, Value>();
  return {
    getOrBuild: (key, make) => {
      const known = own.get(key);
      if (known !== undefined) return known;
      const value = make(earlier.get(key)?.value);
      own.set(key, value);
      return value;
    },
    latest: () => {
      const latest = new Map<string, CachedValue<Value>>();
      for (const [key, { value, idle }] of earlier) {
        if (idle < MAX_IDLE_SNAPSHOTS) latest.set(key, { value, idle: idle + 1 });
      }
      for (const [key, value] of own) latest.set(key, { value, idle: 0 });
      return latest;
    },
  };
}
