import { printYaml } from "../../files/yaml/print-yaml.ts";
import { type FieldEntry, hasPresence, type MessageTable } from "../message-tables.ts";

type Members = Readonly<Record<string, unknown>>;

/** YAML of a message: sorted camelCase keys, zero values left out, explicit wrapper zeros and empty messages kept. Ends with a newline. */
export function printMessage(table: MessageTable, message: object): string {
  return printYaml(withoutZeros(table, message));
}

/** The message as a JSON printer would give it: without zero values. */
export function withoutZeros(table: MessageTable, message: object): Members {
  const result: Record<string, unknown> = {};
  for (const field of table.byName.values()) {
    const value = (message as Members)[field.name];
    if (value === undefined || (!hasPresence(field) && isZero(field, value))) continue;
    result[field.name] = printValue(field, value);
  }
  return result;
}

function printValue({ type, shape }: FieldEntry, value: unknown): unknown {
  if (type.kind !== "message") return value;
  if (shape === "list") return (value as readonly Members[]).map((element) => withoutZeros(type.table, element));
  if (shape === "one") return withoutZeros(type.table, value as Members);
  const entries = Object.entries(value as Readonly<Record<string, Members>>);
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutZeros(type.table, member)]));
}

/** Zero by the type's own measure: the first enum name, the empty text. Empty lists and maps have no presence, whatever they contain. */
function isZero({ shape, type }: FieldEntry, value: unknown): boolean {
  if (shape !== "one") return Object.keys(value as object).length === 0;
  if (type.kind === "enum") return value === 0 || (typeof value === "string" && type.table.numbers.get(value) === 0);
  const isWide = type.kind === "scalar" && (type.code === "I" || type.code === "U");
  return value === "" || value === 0 || value === false || (isWide && value === "0");
}
