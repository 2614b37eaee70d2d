import { isJsonObject } from "../../../base/json-object.ts";
import { InjectError } from "../../inject-error.ts";
import type { Json } from "../json.ts";
import { canonicalQuantity } from "./quantity.ts";
import { type KubernetesType, kubernetesType, type Member, type MemberType, type ScalarCode } from "./schema.ts";

export interface NormalizeOptions {
  /** Members that the table does not know are left out, as in the reference; otherwise they stay. */
  readonly dropsUnknown: boolean;
  /** Releases up to 1.20 printed `creationTimestamp: null`. */
  readonly nullTimestamps: boolean;
  /** Objects and lists that have this form already, by identity; those that are made are added. */
  readonly known?: Set<unknown>;
}

/** `normalize` of a type and a value. */
export type Normalizer = (typeName: string, value: unknown) => Json;

const KEEP: NormalizeOptions = { dropsUnknown: false, nullTimestamps: false };

/**
 * For an object that is changed step by step: parts that came out of an earlier call are taken as they are, so a step costs no more than
 * what it has changed. They must not be modified in place.
 */
export function createNormalizer(): Normalizer {
  const options = { ...KEEP, known: new Set<unknown>() };
  return (typeName, value) => normalize(typeName, value, options);
}

/**
 * An object as the typed API prints it: members in declaration order, empty ones left out unless they are always printed, quantities
 * canonical. Rejects a value of the wrong type with its path.
 */
export function normalize(typeName: string, value: unknown, options: NormalizeOptions = KEEP, path = ""): Json {
  const given = value === null || value === undefined ? {} : value;
  if (!isJsonObject(given)) throw wrongType(path, value, "an object");
  if (options.known?.has(given)) return given;
  const type = kubernetesType(typeName);
  const result: Json = {};
  for (const member of membersOf(type, given)) {
    const { name } = member;
    const normalized = normalizeMember(member, given[name], options, path === "" ? name : `${path}.${name}`);
    if (normalized !== undefined) result[name] = normalized;
  }
  if (!options.dropsUnknown) {
    for (const name of Object.keys(given)) if (!type.members.has(name)) result[name] = given[name];
  }
  options.known?.add(result);
  return result;
}

/** What is printed of an object, in declaration order. Objects have few of their type's members: those that are absent cost nothing. */
function membersOf({ members, required }: KubernetesType, given: Json): readonly Member[] {
  const found = [...required];
  let isOrdered = true;
  for (const name of Object.keys(given)) {
    const member = members.get(name);
    if (!member?.isOptional || given[name] === undefined) continue;
    isOrdered &&= found.length === 0 || (found.at(-1)?.index ?? 0) < member.index;
    found.push(member);
  }
  return isOrdered ? found : found.sort((left, right) => left.index - right.index);
}

function normalizeMember(member: Member, value: unknown, options: NormalizeOptions, path: string): unknown {
  const { type, isAlwaysPrinted } = member;
  if (type.pointer && (value === undefined || value === null)) return isAlwaysPrinted ? null : undefined;
  if (type.kind === "scalar" && type.code === "t" && !type.pointer) {
    if (typeof value === "string") return value;
    return options.nullTimestamps && member.name === "creationTimestamp" ? null : undefined;
  }
  const normalized = normalizeValue(type, value, options, path);
  if (type.pointer || type.kind === "struct" || isAlwaysPrinted) return normalized;
  if (type.kind === "scalar" && (type.code === "q" || type.code === "x")) return normalized;
  return isZero(normalized) ? undefined : normalized;
}

function isZero(value: unknown): boolean {
  if (value === null || value === "" || value === 0 || value === false || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function normalizeValue(type: MemberType, value: unknown, options: NormalizeOptions, path: string): unknown {
  switch (type.kind) {
    case "struct":
      return normalize(type.name, value, options, path);
    case "list": {
      if (value === null || value === undefined) return null;
      if (!Array.isArray(value)) throw wrongType(path, value, "a list");
      if (options.known?.has(value)) return value;
      const list = value.map((item, index) => normalizeValue(type.item, item, options, `${path}[${index}]`));
      options.known?.add(list);
      return list;
    }
    case "map": {
      if (value === null || value === undefined) return {};
      if (!isJsonObject(value)) throw wrongType(path, value, "a map");
      const entries = Object.entries(value);
      return Object.fromEntries(
        entries.map(([key, item]) => [key, normalizeValue(type.item, item, options, `${path}.${key}`)]),
      );
    }
    case "scalar":
      return normalizeScalar(type.code, value, path);
  }
}

const ZEROS: Readonly<Record<ScalarCode, unknown>> = { s: "", i: 0, b: false, q: "0", x: 0, t: null, any: null };

function normalizeScalar(code: ScalarCode, value: unknown, path: string): unknown {
  if (value === null || value === undefined) return ZEROS[code];
  switch (code) {
    case "s":
      if (typeof value !== "string") throw wrongType(path, value, "text (put it in quotes)");
      return value;
    case "b":
      if (typeof value !== "boolean") throw wrongType(path, value, "true or false");
      return value;
    case "i":
      if (!isInteger(value)) throw wrongType(path, value, "an integer");
      return value;
    case "x":
      if (typeof value !== "string" && !isInteger(value)) throw wrongType(path, value, "an integer or text");
      return value;
    case "q": {
      const quantity =
        typeof value === "string" || typeof value === "number" ? canonicalQuantity(String(value)) : undefined;
      if (quantity === undefined) throw wrongType(path, value, "a quantity such as 100m or 128Mi");
      return quantity;
    }
    case "t":
    case "any":
      return value;
  }
}

function isInteger(value: unknown): boolean {
  return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
}

function wrongType(path: string, value: unknown, allowed: string): InjectError {
  const shown = typeof value === "bigint" ? String(value) : JSON.stringify(value);
  return new InjectError("invalid-document", `${path || "document"} is ${shown}, allowed is ${allowed}`);
}
