/** Messages as data: the decoder, the merge and the printer are driven by these tables and know no field by name. */
export interface MessageTable {
  readonly fullName: string;
  readonly fields: readonly Field[];
}

export interface EnumTable {
  readonly fullName: string;
  readonly values: Readonly<Record<string, number>>;
}

/** `struct` is free-form JSON. Durations are held as proto3 JSON text, 64-bit integers as decimal text. */
export type ScalarType = "string" | "bool" | "int32" | "uint32" | "int64" | "double" | "duration" | "struct";

export interface Field {
  /** JSON name. */
  readonly name: string;
  readonly number: number;
  readonly type: ScalarType | EnumTable | MessageTable;
  readonly label?: "list" | "map";
  /** A wrapper message: zero differs from unset. */
  readonly wrapper?: true;
  readonly oneof?: string;
  /** Name in the proto file, where it is not the JSON name in snake case. */
  readonly protoName?: string;
}

export type FieldOptions = Omit<Field, "name" | "number" | "type">;

export function field(name: string, number: number, type: Field["type"], options: FieldOptions = {}): Field {
  return { name, number, type, ...options };
}

export const list: FieldOptions = { label: "list" };
export const map: FieldOptions = { label: "map" };
export const wrapper: FieldOptions = { wrapper: true };

/** Fields of which one at most is set; setting one clears the others. */
export function oneof(name: string, ...fields: readonly Field[]): readonly Field[] {
  return fields.map((member) => ({ ...member, oneof: name }));
}

export function isMessage(type: Field["type"]): type is MessageTable {
  return typeof type === "object" && "fields" in type;
}

export function isEnum(type: Field["type"]): type is EnumTable {
  return typeof type === "object" && "values" in type;
}

/** Name in the proto file, which documents may use instead of the JSON name. */
export function protoName(entry: Field): string {
  return entry.protoName ?? entry.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Set is told apart from zero: messages, wrappers, durations and members of a oneof. */
export function hasPresence(entry: Field): boolean {
  return entry.wrapper === true || entry.oneof !== undefined || entry.type === "duration" || isMessage(entry.type);
}
