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
  return (names) => {
    if (names.length === 0) return NO_NAMES;
    const made = createNameList(names);
    const key = createHash("sha256").update(made.list.join("\0")).digest("base64");
    const known = lists.get(key)?.deref();
    if (known !== undefined) return known;
    lists.set(key, new WeakRef(made));
    forgotten.register(made, key);
    return made;
  };
}
