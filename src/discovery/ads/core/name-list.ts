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

/** Frozen lists of names that were found to be exactly a list: equal requests are one value, so that most are only looked up. */
const proved = new WeakMap<readonly string[], NameList>();

/** Duplicates in `names` do not count. Needs no sorting: every acknowledgement of a large client repeats its whole list. */
export function hasExactly(known: NameList, names: readonly string[]): boolean {
  if (names.length < known.list.length) return false;
  if (proved.get(names) === known) return true;
  if (names.some((name) => !known.has(name))) return false;
  const isSame = names.length === known.list.length || new Set(names).size === known.list.length;
  if (isSame && Object.isFrozen(names)) proved.set(names, known);
  return isSame;
}
