import type { AnyMessage } from "./json-types.ts";
import { alternativesOf, type FieldEntry, type MessageTable, type MessageTables } from "./message-tables.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * `protobuf` merges messages member by member, lists one after the other, entries of maps and everything else by replacing.
 * `replace-lists` does the same but for lists. `replace-members` replaces each member of the message as a whole.
 */
export type MergeMode = "protobuf" | "replace-lists" | "replace-members";

/** Lays one message over another. A member of a oneof removes the others. Both in canonical form; neither is changed. */
export function mergeMessages<Message extends object>(
  table: MessageTable,
  base: Message,
  over: object,
  mode: MergeMode = "protobuf",
): Message {
  const merged: Record<string, unknown> = { ...(base as Members) };
  for (const [member, value] of Object.entries(over)) {
    const field = table.byName.get(member);
    if (field === undefined) continue;
    for (const other of alternativesOf(table, field)) delete merged[other.name];
    merged[member] = mergeField(field, merged[member], value, mode);
  }
  return merged as Message;
}

/** Undefined for messages of different types, which nothing can be made of. */
export function mergeAny(tables: MessageTables, base: AnyMessage, over: AnyMessage): AnyMessage | undefined {
  const name = typeName(base);
  if (name !== typeName(over)) return undefined;
  // The content of a well-known type is one value as a whole.
  return tables.has(name) ? mergeMessages(tables.message(name), base, over) : over;
}

function typeName({ "@type": url }: AnyMessage): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

function mergeField({ shape, type }: FieldEntry, base: unknown, over: unknown, mode: MergeMode): unknown {
  if (base === undefined || mode === "replace-members") return over;
  if (shape === "list") return mode === "replace-lists" ? over : [...(base as unknown[]), ...(over as unknown[])];
  if (shape === "map" || type.kind === "struct") return { ...(base as Members), ...(over as Members) };
  return type.kind === "message" ? mergeMessages(type.table, base as Members, over as Members, mode) : over;
}
