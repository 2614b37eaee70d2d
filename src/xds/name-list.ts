import { createHash } from "node:crypto";

/** The names a client has subscribed to: sorted, each once. Equal lists may be one value, so that what follows from them is shared. */
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

/** Frozen lists of names that are known to equal a list: equal requests are one value, so that most are only looked up. */
const proved = new WeakMap<readonly string[], { readonly list: NameList; readonly owner?: object }>();

/** Duplicates in `names` do not count. Needs no sorting: every ACK of a large client repeats its whole list. */
export function hasExactly(known: NameList, names: readonly string[]): boolean {
  if (names.length < known.list.length) return false;
  if (proved.get(names)?.list === known) return true;
  if (names.some((name) => !known.has(name))) return false;
  const isSame = new Set(names).size === known.list.length;
  if (isSame && Object.isFrozen(names) && !proved.has(names)) proved.set(names, { list: known });
  return isSame;
}

/**
 * Interns lists: equal ones are one value, because equal sidecars subscribe to the same thousand names and results are memoized by list.
 * Lists that are no longer in use are collected.
 */
export function createNameLists(): (names: readonly string[]) => NameList {
  const lists = new Map<string, WeakRef<NameList>>();
  const collected = new FinalizationRegistry<string>((key) => {
    if (lists.get(key)?.deref() === undefined) lists.delete(key);
  });
  const find = (key: string) => lists.get(key)?.deref();
  const store = (key: string, list: NameList) => {
    lists.set(key, new WeakRef(list));
    collected.register(list, key);
  };
  const intern = (names: readonly string[]): NameList => {
    // Equal sidecars mostly subscribe in the same order too: then nothing has to be sorted.
    const asked = keyOf(names);
    const known = find(asked);
    if (known !== undefined) return known;
    const made = createNameList(names);
    const sorted = keyOf(made.list);
    const list = find(sorted) ?? made;
    if (list === made) store(sorted, list);
    if (asked !== sorted) store(asked, list);
    return list;
  };
  return (names) => {
    if (names.length === 0) return NO_NAMES;
    const known = proved.get(names);
    if (known !== undefined && known.owner === lists) return known.list;
    const list = intern(names);
    if (Object.isFrozen(names)) proved.set(names, { list, owner: lists });
    return list;
  };
}

/** Names may hold any character, so no separator would keep two lists apart: one client's list must not become another's. */
function keyOf(names: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(names)).digest("base64");
}
