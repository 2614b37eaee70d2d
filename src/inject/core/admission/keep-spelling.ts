import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../../../base/json-object.ts";
import type { Json } from "../json.ts";

/**
 * The changed object, but with what did not change spelled as it was sent: the API's form leaves out zeros and rewrites quantities, and
 * a patch should not.
 */
export function keepSpelling(sent: unknown, typed: unknown, changed: unknown): unknown {
  if (isDeepStrictEqual(typed, changed)) return sent;
  if (isJsonObject(sent) && isJsonObject(typed) && isJsonObject(changed)) return keepMembers(sent, typed, changed);
  if (Array.isArray(sent) && Array.isArray(typed) && Array.isArray(changed) && sent.length === typed.length) {
    // Of items that are the same the first counts.
    const places = new Map(typed.map((item: unknown, index) => [identityOf(item), index] as const).reverse());
    return changed.map((item: unknown) => {
      const index = places.get(identityOf(item));
      return index === undefined ? item : keepSpelling(sent[index], typed[index], item);
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

/** Items are paired by their name, others by all they hold, in whichever order. */
function identityOf(item: unknown): string {
  if (isJsonObject(item) && typeof item.name === "string") return `name ${item.name}`;
  return `value ${JSON.stringify(item, (_, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  )}`;
}
