import { printYaml } from "../../files/yaml/print-yaml.ts";
import { type Field, hasPresence, isEnum, isMessage, type MessageTable } from "./message-table.ts";

type Fields = Readonly<Record<string, unknown>>;

/** YAML of a message: sorted camelCase keys, zero values left out, explicit wrapper zeros and empty messages kept. Ends with a newline. */
export function printMessage(table: MessageTable, message: Fields): string {
  return printYaml(pruneMessage(table, message));
}

/** The message as a JSON printer would give it: without zero values. */
export function pruneMessage(table: MessageTable, message: Fields): Fields {
  const result: Record<string, unknown> = {};
  for (const entry of table.fields) {
    const value = message[entry.name];
    if (value === undefined || (!hasPresence(entry) && isZero(entry, value))) continue;
    if (isEmptyCollection(entry, value)) continue;
    result[entry.name] = prune(entry, value);
  }
  return result;
}

function prune(entry: Field, value: unknown): unknown {
  const { type } = entry;
  if (!isMessage(type)) return value;
  if (entry.label === "list") return (value as readonly Fields[]).map((element) => pruneMessage(type, element));
  if (entry.label === "map") {
    return Object.fromEntries(
      Object.entries(value as Fields).map(([key, member]) => [key, pruneMessage(type, member as Fields)]),
    );
  }
  return pruneMessage(type, value as Fields);
}

/** Empty lists and maps have no presence, whatever they contain. */
function isEmptyCollection(entry: Field, value: unknown): boolean {
  if (entry.label === undefined) return false;
  return Object.keys(value as object).length === 0;
}

/** Zero by the type's own measure: the first enum name, the empty text. */
function isZero(entry: Field, value: unknown): boolean {
  if (entry.label !== undefined) return false;
  if (isEnum(entry.type)) return value === 0 || (typeof value === "string" && entry.type.values[value] === 0);
  return value === "" || value === 0 || value === false || (entry.type === "int64" && value === "0");
}
