import type { MessageTable } from "./message-table.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Lays the fields a document sets over a base: each replaces the whole field, and clears the other members of its oneof. */
export function mergeMessage(table: MessageTable, base: Fields, overlay: Fields): Fields {
  const result: Record<string, unknown> = { ...base };
  for (const entry of table.fields) {
    if (!Object.hasOwn(overlay, entry.name)) continue;
    if (entry.oneof !== undefined) {
      for (const other of table.fields) if (other.oneof === entry.oneof) delete result[other.name];
    }
    result[entry.name] = overlay[entry.name];
  }
  return result;
}
