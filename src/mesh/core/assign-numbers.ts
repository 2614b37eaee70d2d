/**
 * Numbers from 0 for names, from which addresses follow. A name that had one keeps it; no new name gets one that was in use before, as
 * its last owner may still be there.
 */
export function assignNumbers(
  names: readonly string[],
  before: ReadonlyMap<string, number> = new Map(),
): ReadonlyMap<string, number> {
  const taken = new Set(before.values());
  let next = 0;
  return new Map(
    names.map((name) => {
      const kept = before.get(name);
      if (kept !== undefined) return [name, kept];
      while (taken.has(next)) next += 1;
      taken.add(next);
      return [name, next];
    }),
  );
}
