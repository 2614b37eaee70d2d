import { CodecError } from "./codec-error.ts";

export type ScalarCode = "d" | "f" | "i" | "I" | "u" | "U" | "b" | "s" | "y";

/** What a field's value is. Everything but `scalar`, `enum` and `message` has a JSON form of its own. */
export type FieldType =
  | { readonly kind: "scalar"; readonly code: ScalarCode }
  | { readonly kind: "wrapper"; readonly code: ScalarCode }
  | { readonly kind: "enum"; readonly table: EnumTable }
  | { readonly kind: "message"; readonly table: MessageTable }
  | { readonly kind: "any" | "duration" | "timestamp" | "struct" | "value" | "list" };

export interface FieldEntry {
  /** JSON name. */
  readonly name: string;
  /** Name in the .proto file, which JSON may use as well. */
  readonly protoName: string;
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
  /** Full name. */
  readonly name: string;
  readonly fields: readonly FieldEntry[];
  readonly byName: ReadonlyMap<string, FieldEntry>;
  readonly byNumber: ReadonlyMap<number, FieldEntry>;
  /** By JSON name and by name in the .proto file. */
  readonly bySpelling: ReadonlyMap<string, FieldEntry>;
  /** JSON names of the members of each oneof. */
  readonly oneofs: readonly (readonly string[])[];
  /** The set that the message belongs to: what an Any may hold is found there. */
  readonly tables: MessageTables;
}

export interface EnumTable {
  readonly name: string;
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
}

/** A generated module: fields of messages and values of enums as text. */
export interface TableModule {
  readonly messages: Readonly<Record<string, string>>;
  readonly enums: Readonly<Record<string, string>>;
}

const KINDS: Readonly<Record<string, FieldType>> = {
  A: { kind: "any" },
  D: { kind: "duration" },
  T: { kind: "timestamp" },
  S: { kind: "struct" },
  V: { kind: "value" },
  L: { kind: "list" },
};

/** Types whose JSON form is not an object of their members: in an Any it is the member "value". */
export const WELL_KNOWN: ReadonlyMap<string, FieldType> = new Map(
  [
    ["Any", "A"],
    ["Duration", "D"],
    ["Timestamp", "T"],
    ["Struct", "S"],
    ["Value", "V"],
    ["ListValue", "L"],
    ["DoubleValue", "wd"],
    ["FloatValue", "wf"],
    ["Int32Value", "wi"],
    ["Int64Value", "wI"],
    ["UInt32Value", "wu"],
    ["UInt64Value", "wU"],
    ["BoolValue", "wb"],
    ["StringValue", "ws"],
    ["BytesValue", "wy"],
  ].map(([name = "", code = ""]) => [`google.protobuf.${name}`, plainType(code)]),
);

/** The messages of some generated modules. Tables are text until a message of their kind is met: a process uses a part of them only. */
export class MessageTables {
  readonly #modules: readonly TableModule[];
  readonly #messages = new Map<string, MessageTable>();
  readonly #enums = new Map<string, EnumTable>();

  constructor(...modules: readonly TableModule[]) {
    this.#modules = modules;
  }

  has(name: string): boolean {
    return this.#messages.has(name) || this.#text("messages", name) !== undefined;
  }

  message(name: string): MessageTable {
    const known = this.#messages.get(name);
    if (known !== undefined) return known;
    const text = this.#text("messages", name);
    if (text === undefined) throw new CodecError("unknown-message", `no message is known by the name ${name}`);
    const fields = text === "" ? [] : text.split(",").map((field) => this.#field(field));
    const table: MessageTable = {
      name,
      fields,
      byName: new Map(fields.map((field) => [field.name, field])),
      byNumber: new Map(fields.map((field) => [field.number, field])),
      bySpelling: new Map(fields.flatMap((field) => [[field.protoName, field] as const, [field.name, field] as const])),
      oneofs: [...new Set(fields.map(({ oneof }) => oneof))]
        .filter((oneof) => oneof !== 0)
        .map((oneof) => fields.filter((field) => field.oneof === oneof).map(({ name: member }) => member)),
      tables: this,
    };
    this.#messages.set(name, table);
    return table;
  }

  enum(name: string): EnumTable {
    const known = this.#enums.get(name);
    if (known !== undefined) return known;
    const entries = (this.#text("enums", name) ?? "").split(",").map((entry) => {
      const [value = "", number = ""] = entry.split(" ");
      return [value, Number(number)] as const;
    });
    const table: EnumTable = {
      name,
      numbers: new Map(entries),
      // Of several names of one number the first is the canonical one.
      names: new Map(entries.toReversed().map(([value, number]) => [number, value])),
    };
    this.#enums.set(name, table);
    return table;
  }

  #text(part: keyof TableModule, name: string): string | undefined {
    return this.#modules.find((module) => Object.hasOwn(module[part], name))?.[part][name];
  }

  #field(text: string): FieldEntry {
    const [names = "", number = "", code = ""] = text.split(" ");
    const [name = "", protoName = snakeCase(name)] = names.split("=");
    const base = { name, protoName, number: Number(number), explicit: false, oneof: 0, key: "s" as ScalarCode };
    if (code.startsWith("%")) {
      return { ...base, shape: "map", key: code.charAt(1) as ScalarCode, type: this.#type(code.slice(2)) };
    }
    if (code.startsWith("*")) return { ...base, shape: "list", type: this.#type(code.slice(1)) };
    const [, group, rest = ""] = /^\?(\d*)(.*)$/.exec(code) ?? [];
    if (group === undefined) return { ...base, shape: "one", type: this.#type(code) };
    return { ...base, shape: "one", explicit: true, oneof: Number(group), type: this.#type(rest) };
  }

  #type(code: string): FieldType {
    if (code.startsWith("e")) return { kind: "enum", table: this.enum(code.slice(1)) };
    return code.startsWith("m") ? new NestedType(this, code.slice(1)) : plainType(code);
  }
}

/** Messages may hold messages of their own kind, so that the table is looked up when it is asked for. */
class NestedType {
  readonly kind = "message";
  readonly #tables: MessageTables;
  readonly #name: string;
  #table: MessageTable | undefined;

  constructor(tables: MessageTables, name: string) {
    this.#tables = tables;
    this.#name = name;
  }

  get table(): MessageTable {
    this.#table ??= this.#tables.message(this.#name);
    return this.#table;
  }
}

function plainType(code: string): FieldType {
  if (code.startsWith("w")) return { kind: "wrapper", code: code.slice(1) as ScalarCode };
  return KINDS[code] ?? { kind: "scalar", code: code as ScalarCode };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Set is distinguished from zero: messages, wrappers, durations and members of a oneof. */
export function hasPresence({ shape, explicit, type }: FieldEntry): boolean {
  return shape === "one" && (explicit || (type.kind !== "scalar" && type.kind !== "enum"));
}

/** The other members of a field's oneof. */
export function alternativesOf(table: MessageTable, field: FieldEntry): readonly FieldEntry[] {
  if (field.oneof === 0) return [];
  return [...table.byName.values()].filter((other) => other.oneof === field.oneof && other !== field);
}
