import type { Patch } from "./read-patches.ts";

/**
 * A list after one patch. `isMatch` finds what the patch names in it, undefined: the patch names nothing. The list itself where the patch
 * does nothing to it.
 */
export function shapeList<Item>(
  items: readonly Item[],
  { operation, value }: Patch,
  isMatch: ((item: Item) => boolean) | undefined,
): readonly Item[] {
  const item = value as Item;
  const at = isMatch === undefined ? -1 : items.findIndex(isMatch);
  const isLost = isMatch !== undefined && at === -1;
  switch (operation) {
    case "ADD":
      return [...items, item];
    case "INSERT_FIRST":
      return [item, ...items];
    case "INSERT_BEFORE":
      return isLost ? items : items.toSpliced(Math.max(at, 0), 0, item);
    case "INSERT_AFTER":
      if (isLost) return items;
      return at === -1 ? [...items, item] : items.toSpliced(at + 1, 0, item);
    case "REPLACE":
      return at === -1 ? items : items.with(at, item);
    case "REMOVE":
      return at === -1 || isMatch === undefined ? items : items.filter((candidate) => !isMatch(candidate));
    default:
      return items;
  }
}

export function isMerge({ operation }: Patch): boolean {
  return operation === "MERGE" || operation === "MERGE_AND_REPLACE_LIST";
}
