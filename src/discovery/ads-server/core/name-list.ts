/** The names a client asked for: sorted, each once. Equal lists may be one value, so that what follows from them is shared. */
export interface NameList {
  readonly list: readonly string[];
  has(name: string): boolean;
}

export function createNameList(names: Iterable<string>): NameList {
  const set = new Set(names);
  const list = Object.freeze([...set].sort());
  return { list, has: (name) => set.has(name) };
}

export const NO_NAMES: NameList = createNameList([]);

/** Duplicates in `names` do not count. Needs no sorting: every acknowledgement of a large client repeats its whole list. */
export function hasExactly(known: NameList, names: readonly string[]): boolean {
  if (names.length < known.list.length) return false;
  if (names.some((name) => !known.has(name))) return false;
  return names.length === known.list.length || new Set(names).size === known.list.length;
}
