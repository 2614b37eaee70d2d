import { isDeepStrictEqual } from "node:util";
import { isObject, type Json } from "../json.ts";

/**
 * The changed object, but with what did not change spelled as it was sent: the API's form leaves out zeros and rewrites quantities, and
 * a patch should not.
 */
export function keepSpelling(sent: unknown, typed: unknown, changed: unknown): unknown {
  if (isDeepStrictEqual(typed, changed)) return sent;
  if (isObject(sent) && isObject(typed) && isObject(changed)) return keepMembers(sent, typed, changed);
  if (Array.isArray(sent) && Array.isArray(typed) && Array.isArray(changed) && sent.length === typed.length) {
    return changed.map((item: unknown) => {
      const index = typed.findIndex((candidate: unknown) => isSame(candidate, item));
      return index === -1 ? item : keepSpelling(sent[index], typed[index], item);
    });
  }
  return changed;
}

function keepMembers(sent: Json, typed: Json, changed: Json): Json {
  const result: Json = {};
  for (const name of new Set([...Object.keys(sent), ...Object.keys(changed)])) {
    if (changed[name] !== undefined) {
      // Empty objects that only the API's form has.
      if (sent[name] === undefined && isDeepStrictEqual(typed[name], changed[name])) continue;
      result[name] = keepSpelling(sent[name], typed[name], changed[name]);
    } else if (typed[name] === undefined) result[name] = sent[name];
  }
  return result;
}

function isSame(left: unknown, right: unknown): boolean {
  if (isObject(left) && isObject(right) && typeof left.name === "string") return left.name === right.name;
  return isDeepStrictEqual(left, right);
}
