import { ENUMS as EXTENSION_ENUMS, MESSAGES as EXTENSIONS } from "../gen/extension-tables.ts";
import { ENUMS, MESSAGES } from "../gen/tables.ts";
import { EnvoyCodecError } from "./codec-error.ts";

export type ScalarCode = "d" | "f" | "i" | "I" | "u" | "U" | "b" | "s" | "y";

/** What a field's value is. Everything but `scalar`, `enum` and `message` has a JSON form of its own. */
export type FieldType =
  | { readonly kind: "scalar"; readonly code: ScalarCode }
  | { readonly kind: "wrapper"; readonly code: ScalarCode }
  | { readonly kind: "enum"; readonly table: EnumTable }
  | { readonly kind: "message"; readonly name: string }
  | { readonly kind: "any" | "duration" | "timestamp" | "struct" | "value" | "list" };

export interface FieldEntry {
  readonly name: string;
  readonly number: number;
  readonly type: FieldType;
  readonly shape: "one" | "list" | "map";
  /** Zero is sent when it is set. */
  readonly explicit: boolean;
  /** Of members with the same number, other than 0, one at most is set. */
  readonly oneof: number;
  /** Of a map. */
  readonly key: ScalarCode;
}

export interface MessageTable {
  readonly name: string;
  readonly byName: ReadonlyMap<string, FieldEntry>;
  readonly byNumber: ReadonlyMap<number, FieldEntry>;
}

export interface EnumTable {
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
}

const KINDS: Readonly<Record<string, FieldType>> = {
  A: { kind: "any" },
  D: { kind: "duration" },
  T: { kind: "timestamp" },
  S: { kind: "struct" },
  V: { kind: "value" },
  L: { kind: "list" },
};

// Tables are text until a message of their kind is met: a process uses a part of them only.
const messageTables = new Map<string, MessageTable>();
const enumTables = new Map<string, EnumTable>();

export function messageTable(name: string): MessageTable {
  const known = messageTables.get(name);
  if (known !== undefined) return known;
  const text = textOf(name);
  if (text === undefined) throw new EnvoyCodecError("unknown-message", `no message is known by the name ${name}`);
  const fields = text === "" ? [] : text.split(",").map(parseField);
  const table: MessageTable = {
    name,
    byName: new Map(fields.map((field) => [field.name, field])),
    byNumber: new Map(fields.map((field) => [field.number, field])),
  };
  messageTables.set(name, table);
  return table;
}

export function isMessageName(name: string): boolean {
  return textOf(name) !== undefined;
}

function textOf(name: string): string | undefined {
  if (Object.hasOwn(MESSAGES, name)) return MESSAGES[name];
  return Object.hasOwn(EXTENSIONS, name) ? EXTENSIONS[name] : undefined;
}

function parseField(text: string): FieldEntry {
  const [name = "", number = "", code = ""] = text.split(" ");
  const base = { name, number: Number(number), explicit: false, oneof: 0, key: "s" as ScalarCode };
  if (code.startsWith("%")) {
    return { ...base, shape: "map", key: code.charAt(1) as ScalarCode, type: parseType(code.slice(2)) };
  }
  if (code.startsWith("*")) return { ...base, shape: "list", type: parseType(code.slice(1)) };
  const [, group, rest = ""] = /^\?(\d*)(.*)$/.exec(code) ?? [];
  if (group !== undefined)
    return { ...base, shape: "one", explicit: true, oneof: Number(group), type: parseType(rest) };
  return { ...base, shape: "one", type: parseType(code) };
}

function parseType(code: string): FieldType {
  const rest = code.slice(1);
  if (code.startsWith("e")) return { kind: "enum", table: enumTable(rest) };
  if (code.startsWith("m")) return { kind: "message", name: rest };
  if (code.startsWith("w")) return { kind: "wrapper", code: rest as ScalarCode };
  return KINDS[code] ?? { kind: "scalar", code: code as ScalarCode };
}

export function enumTable(name: string): EnumTable {
  const known = enumTables.get(name);
  if (known !== undefined) return known;
  const entries = (ENUMS[name] ?? EXTENSION_ENUMS[name] ?? "").split(",").map((entry) => {
    const [value = "", number = ""] = entry.split(" ");
    return [value, Number(number)] as const;
  });
  const table: EnumTable = {
    numbers: new Map(entries),
    // Of several names of one number the first is the canonical one.
    names: new Map(entries.toReversed().map(([value, number]) => [number, value])),
  };
  enumTables.set(name, table);
  return table;
}
