import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from "yaml";

/**
 * Where a member stands in the text: its key, or an item. Of one that the text does not have (it comes from a merged key, or is
 * missing) the nearest parent that it does.
 */
export function yamlOffset(document: Document, path: readonly (string | number)[]): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(part));
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === "number") {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
