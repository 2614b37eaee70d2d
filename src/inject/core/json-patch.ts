import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../../base/json-object.ts";
import type { Json } from "./json.ts";

export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/**
 * RFC 6902 operations that turn one document into another: members in sorted order, items of lists paired by their name, so that a
 * container that other webhooks added is neither removed nor moved. Equal documents need no operation.
 */
export function createPatch(before: unknown, after: unknown, path = ""): readonly PatchOperation[] {
  if (before === after) return [];
  if (isJsonObject(before) && isJsonObject(after)) return patchObject(before, after, path);
  if (Array.isArray(before) && Array.isArray(after)) {
    return isDeepStrictEqual(before, after) ? [] : patchList(before, after, path);
  }
  return [{ op: "replace", path, value: after }];
}

function patchObject(before: Json, after: Json, path: string): readonly PatchOperation[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name): readonly PatchOperation[] => {
    if (before[name] === after[name]) return [];
    const member = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const [had, has] = [before[name] !== undefined, after[name] !== undefined];
    if (had && has) return createPatch(before[name], after[name], member);
    if (has) return [{ op: "add", path: member, value: after[name] }];
    return [{ op: "remove", path: member }];
  });
}

/** Each operation is written for the list as the ones before it left it. */
function patchList(before: readonly unknown[], after: readonly unknown[], path: string): readonly PatchOperation[] {
  const pairs = commonItems(before, after);
  const operations: PatchOperation[] = [];
  let [from, to, at] = [0, 0, 0];
  for (const [left, right] of [...pairs, [before.length, after.length] as const]) {
    while (from < left && to < right) {
      operations.push({ op: "replace", path: `${path}/${at++}`, value: after[to++] });
      from += 1;
    }
    for (; from < left; from += 1) operations.push({ op: "remove", path: `${path}/${at}` });
    while (to < right) operations.push({ op: "add", path: `${path}/${at++}`, value: after[to++] });
    if (left === before.length) break;
    operations.push(...createPatch(before[left], after[right], `${path}/${at++}`));
    from = left + 1;
    to = right + 1;
  }
  return operations;
}

/** Comparisons that a list is worth: the table of them is memory and time. */
const MAX_COMPARISONS = 1_000_000;

/**
 * The longest common subsequence of the lists, as pairs of indexes. Of lists beyond any pod's, what is the same at the beginning and at the
 * end: the rest is written again.
 */
function commonItems(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [number, number])[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSameItem(before[start], after[start])) start += 1;
  const head = Array.from({ length: start }, (_, index) => [index, index] as const);
  const [left, right] = [before.slice(start), after.slice(start)];
  const rest = left.length * right.length <= MAX_COMPARISONS ? longestCommon(left, right) : commonEnd(left, right);
  return [...head, ...rest.map(([from, to]) => [from + start, to + start] as const)];
}

function commonEnd(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = [];
  for (let [left, right] = [before.length - 1, after.length - 1]; left >= 0 && right >= 0; left--, right--) {
    if (!isSameItem(before[left], after[right])) break;
    pairs.push([left, right]);
  }
  return pairs.reverse();
}

function longestCommon(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [number, number])[] {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let left = before.length - 1; left >= 0; left -= 1) {
    for (let right = after.length - 1; right >= 0; right -= 1) {
      lengths[left * width + right] = isSameItem(before[left], after[right])
        ? 1 + (lengths[(left + 1) * width + right + 1] ?? 0)
        : Math.max(lengths[(left + 1) * width + right] ?? 0, lengths[left * width + right + 1] ?? 0);
    }
  }
  const pairs: (readonly [number, number])[] = [];
  let [left, right] = [0, 0];
  while (left < before.length && right < after.length) {
    if (isSameItem(before[left], after[right])) pairs.push([left++, right++]);
    else if ((lengths[(left + 1) * width + right] ?? 0) >= (lengths[left * width + right + 1] ?? 0)) left += 1;
    else right += 1;
  }
  return pairs;
}

function isSameItem(left: unknown, right: unknown): boolean {
  if (isJsonObject(left) && isJsonObject(right) && typeof left.name === "string") return left.name === right.name;
  return isDeepStrictEqual(left, right);
}
