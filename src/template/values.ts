import { compareText } from "../base/go-text.ts";
/**
 * What a template can see of JavaScript data, in Go's terms: undefined = no value, null = nil, integral numbers and bigint = int, other
 * numbers = float64, arrays = slices, plain objects and Maps = maps, and the two classes below. Anything else is opaque: it can be
 * passed on but has no fields. Only own properties exist, so that nothing of JavaScript itself (`constructor`, `__proto__`) is reachable.
 */
export type GoKind = "invalid" | "nil" | "bool" | "int" | "float" | "string" | "list" | "map" | "struct" | "opaque";

/** A Go struct: fields by their Go names. An unknown field is an error, unlike an unknown key of a map. */
export class GoStruct {
  readonly typeName: string;
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #json: unknown;
  readonly #printed: string;

  /** `json` is what `toJSON` of the struct gives; `printed` what an action prints. */
  constructor(typeName: string, fields: ReadonlyMap<string, unknown>, json: unknown, printed: string) {
    this.typeName = typeName;
    this.#fields = fields;
    this.#json = json;
    this.#printed = printed;
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  get(name: string): unknown {
    return this.#fields.get(name);
  }

  toString(): string {
    return this.#printed;
  }

  toJSON(): unknown {
    return this.#json;
  }
}

/** A named integer: prints its name, compares as a number. */
export class GoEnum {
  readonly typeName: string;
  readonly label: string;
  readonly number: number;

  constructor(typeName: string, label: string, number: number) {
    this.typeName = typeName;
    this.label = label;
    this.number = number;
  }

  toString(): string {
    return this.label;
  }

  toJSON(): unknown {
    return this.number;
  }
}

export function kindOf(value: unknown): GoKind {
  switch (typeof value) {
    case "undefined":
      return "invalid";
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? "int" : "float";
    case "bigint":
      return "int";
    case "object":
      break;
    default:
      return "opaque";
  }
  if (value === null) return "nil";
  if (Array.isArray(value)) return "list";
  if (value instanceof GoEnum) return "int";
  if (value instanceof GoStruct) return "struct";
  return value instanceof Map || isPlainObject(value) ? "map" : "opaque";
}

/** Go's name of the type, as `%T` and error messages show it. */
export function typeName(value: unknown): string {
  if (value instanceof GoStruct || value instanceof GoEnum) return value.typeName;
  const kind = kindOf(value);
  switch (kind) {
    case "invalid":
    case "nil":
      return "<nil>";
    case "float":
      return "float64";
    case "list":
      return "[]interface {}";
    case "map":
      return "map[string]interface {}";
    case "opaque":
      return "interface {}";
    default:
      return kind;
  }
}

/** Go's notion of a true value: not the zero value, not empty. */
export function isTrue(value: unknown): boolean {
  switch (kindOf(value)) {
    case "invalid":
    case "nil":
      return false;
    case "bool":
      return value === true;
    case "int":
    case "float":
      return toNumber(value) !== 0;
    case "string":
    case "list":
    case "map":
      return lengthOf(value) > 0;
    default:
      return true;
  }
}

/** Number of bytes, elements or keys; -1 for what has no length. */
export function lengthOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  return isMap(value) ? Object.keys(value as object).length : -1;
}

export function isMap(value: unknown): value is ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>> {
  return value instanceof Map || (typeof value === "object" && value !== null && isPlainObject(value));
}

/** undefined for an absent key. */
export function mapGet(map: unknown, key: unknown): unknown {
  if (map instanceof Map) return map.get(key);
  return typeof key === "string" && Object.hasOwn(map as object, key)
    ? (map as Record<string, unknown>)[key]
    : undefined;
}

export function mapHas(map: unknown, key: unknown): boolean {
  return map instanceof Map ? map.has(key) : typeof key === "string" && Object.hasOwn(map as object, key);
}

/** Entries in the order Go ranges over them: sorted by key. */
export function mapEntries(map: unknown): readonly (readonly [unknown, unknown])[] {
  const entries: (readonly [unknown, unknown])[] = map instanceof Map ? [...map] : Object.entries(map as object);
  return entries.sort(([left], [right]) => compareKeys(left, right));
}

/** A map made by a function; a key such as `__proto__` is a key like any other. */
export function makeMap(entries: Iterable<readonly [string, unknown]>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(entries);
}

/** The numeric value of an int or float. */
export function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return value instanceof GoEnum ? value.number : Number.NaN;
}

function compareKeys(left: unknown, right: unknown): number {
  if (typeof left === "string" && typeof right === "string") return compareText(left, right);
  if (typeof left !== "string" && typeof right !== "string") return toNumber(left) - toNumber(right);
  return typeof left === "string" ? 1 : -1;
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
