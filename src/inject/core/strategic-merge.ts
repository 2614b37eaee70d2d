import { isJsonObject } from "../../base/json-object.ts";
import { InjectError } from "../inject-error.ts";
import type { Json } from "./json.ts";
import { kubernetesType, type Member, type MemberType } from "./schema/schema.ts";

/**
 * Kubernetes' strategic merge of a patch over an object of the named type: maps merge by key, null deletes, lists with a merge key merge
 * item by item, other lists and scalars replace. Neither argument is modified.
 */
export function strategicMerge(typeName: string, original: Json, patch: Json): Json {
  return mergeMap({ kind: "struct", name: typeName, pointer: false }, original, patch);
}

function mergeMap(type: MemberType, original: Json, patch: Json): Json {
  const directive = patch.$patch;
  if (directive === "replace") return added(withoutDirectives(patch)) as Json;
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge") {
    throw new InjectError("merge", `$patch is ${JSON.stringify(directive)}, allowed are merge, replace, delete`);
  }
  const result = retained(original, patch);
  const directives: string[] = [];
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (key.startsWith("$")) {
      directives.push(key);
      continue;
    }
    const before = result[key];
    if (value === null) delete result[key];
    else if (Array.isArray(value) && Array.isArray(before)) {
      result[key] = mergeList(memberOf(type, key), before, value, patch[`$setElementOrder/${key}`]);
    } else if (isJsonObject(value) && isJsonObject(before)) {
      result[key] = mergeMap(typeOf(memberOf(type, key)), before, value);
    } else result[key] = added(value);
  }
  for (const key of directives) {
    const value = patch[key];
    const list = /^\$deleteFromPrimitiveList\/(.+)$/.exec(key)?.[1];
    const before = list === undefined ? undefined : result[list];
    if (list !== undefined && Array.isArray(before) && Array.isArray(value))
      result[list] = before.filter((item) => !value.includes(item));
  }
  return result;
}

/** `$retainKeys` names the only keys that stay. */
function retained(original: Json, patch: Json): Json {
  const keys = patch.$retainKeys;
  if (!Array.isArray(keys)) return { ...original };
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}

const UNTYPED: MemberType = { kind: "map", item: { kind: "scalar", code: "any", pointer: false }, pointer: false };

function memberOf(type: MemberType, key: string): Member | undefined {
  return type.kind === "struct" ? kubernetesType(type.name).members.get(key) : undefined;
}

function typeOf(member: Member | undefined): MemberType {
  return member?.type.kind === "struct" || member?.type.kind === "map" ? member.type : UNTYPED;
}

/** A value that was not there before: nulls and directives in it have no meaning any more. */
function added(value: unknown): unknown {
  if (isPlain(value)) return value;
  if (Array.isArray(value)) {
    return value.filter((element) => !isJsonObject(element) || element.$patch === undefined).map(added);
  }
  return isJsonObject(value) ? mergeMap(UNTYPED, {}, value) : value;
}

/** Has neither nulls nor directives: most of a template. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isPlain);
  if (isJsonObject(value)) return Object.keys(value).every((key) => !key.startsWith("$") && isPlain(value[key]));
  return value !== null;
}

function withoutDirectives(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith("$")));
}

function mergeList(
  member: Member | undefined,
  original: readonly unknown[],
  patch: readonly unknown[],
  setOrder: unknown,
): readonly unknown[] {
  const mergeKey = member?.mergeKey;
  if (mergeKey === undefined || patch.some((item) => isJsonObject(item) && item.$patch === "replace")) {
    return added(patch) as readonly unknown[];
  }
  const keyOf = (item: unknown): unknown => {
    if (mergeKey === "") return item;
    if (isJsonObject(item) && item[mergeKey] !== undefined) return item[mergeKey];
    throw new InjectError("merge", `an item of the list ${member?.name} has no ${mergeKey}: ${JSON.stringify(item)}`);
  };
  const itemType = member?.type.kind === "list" ? member.type.item : UNTYPED;
  const deleted = new Set(patch.filter((item) => isJsonObject(item) && item.$patch === "delete").map(keyOf));
  const before = original.filter((item) => !deleted.has(keyOf(item)));
  const merged = new Map<unknown, unknown>(before.map((item) => [keyOf(item), item]));
  const patched = new Set<unknown>();
  for (const item of patch) {
    if (isJsonObject(item) && item.$patch === "delete") continue;
    const key = keyOf(item);
    const known = merged.get(key);
    merged.set(key, isJsonObject(known) && isJsonObject(item) ? mergeMap(itemType, known, item) : added(item));
    patched.add(key);
  }
  const order = Array.isArray(setOrder)
    ? setOrder.map((item) => (isJsonObject(item) ? item[mergeKey] : item)).filter((key) => merged.has(key))
    : [...patched];
  return interleaved(before.map(keyOf), order).map((key) => merged.get(key));
}

/**
 * Items of the patch in the patch's order; the others before the first item of the patch that stood after them, else at the end. So what
 * a patch adds comes before what was there.
 */
function interleaved(existing: readonly unknown[], patched: readonly unknown[]): readonly unknown[] {
  const inPatch = new Set(patched);
  const left = existing.filter((key) => !inPatch.has(key));
  // Of keys that are there twice the first place counts.
  const places = new Map(existing.map((key, index) => [key, index] as const).reverse());
  const placeOf = (key: unknown) => places.get(key) ?? -1;
  const result: unknown[] = [];
  let [next, at] = [0, 0];
  while (next < left.length && at < patched.length) {
    const [ours, theirs] = [placeOf(left[next]), placeOf(patched[at])];
    if (theirs >= 0 && ours < theirs) result.push(left[next++]);
    else result.push(patched[at++]);
  }
  return [...result, ...left.slice(next), ...patched.slice(at)];
}
