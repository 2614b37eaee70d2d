import { createHash } from "node:crypto";
import { createNameList, type NameList, NO_NAMES } from "./core/name-list.ts";

/**
 * Gives equal lists as one value: sidecars that are alike ask for the same thousand names, and whoever keeps results by list finds them.
 * Lists nobody uses are forgotten.
 */
export function createNameLists(): (names: readonly string[]) => NameList {
  const lists = new Map<string, WeakRef<NameList>>();
  const forgotten = new FinalizationRegistry<string>((key) => {
    if (lists.get(key)?.deref() === undefined) lists.delete(key);
  });
  const find = (key: string) => lists.get(key)?.deref();
  const keep = (key: string, list: NameList) => {
    lists.set(key, new WeakRef(list));
    forgotten.register(list, key);
  };
  return (names) => {
    if (names.length === 0) return NO_NAMES;
    // Sidecars alike mostly ask in the same order too: then nothing has to be sorted.
    const asked = keyOf(names);
    const known = find(asked);
    if (known !== undefined) return known;
    const made = createNameList(names);
    const sorted = keyOf(made.list);
    const list = find(sorted) ?? made;
    if (list === made) keep(sorted, list);
    if (asked !== sorted) keep(asked, list);
    return list;
  };
}

/** Names may hold any character, so no separator would keep two lists apart: one client's list must not become another's. */
function keyOf(names: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(names)).digest("base64");
}
