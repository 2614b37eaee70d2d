import { type FieldEntry, messageTable } from "./field-table.ts";
import type { AnyMessage } from "./json-types.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * Lays one message over another as protobuf merges them: messages member by member, lists one after the other, entries of maps and
 * everything else by replacing. A member of a oneof takes the others away. Both in canonical form; neither is changed.
 */
export function mergeMessages<Message extends object>(
  name: string,
  base: Message,
  over: object,
  lists = append,
): Message {
  const table = messageTable(name);
  const merged: Record<string, unknown> = { ...(base as Members) };
  for (const [member, value] of Object.entries(over)) {
    const field = table.byName.get(member);
    if (field === undefined) continue;
    if (field.oneof !== 0) {
      for (const other of table.byName.values()) {
        if (other.oneof === field.oneof && other !== field) delete merged[other.name];
      }
    }
    merged[member] = mergeField(field, merged[member], value, lists);
  }
  return merged as Message;
}

/** Lists of the second take the place of those of the first. */
export function replaceLists(_base: readonly unknown[], over: readonly unknown[]): readonly unknown[] {
  return over;
}

function append(base: readonly unknown[], over: readonly unknown[]): readonly unknown[] {
  return [...base, ...over];
}

/** Undefined for messages of different types, which nothing can be made of. */
export function mergeAny(base: AnyMessage, over: AnyMessage): AnyMessage | undefined {
  const name = typeName(base);
  if (name !== typeName(over)) return undefined;
  // Their content is one value as a whole.
  if (name === "google.protobuf.Struct") return over;
  return mergeMessages(name, base, over);
}

function typeName({ "@type": url }: AnyMessage): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

function mergeField(field: FieldEntry, base: unknown, over: unknown, lists: typeof append): unknown {
  if (base === undefined) return over;
  if (field.shape === "list") return lists(base as unknown[], over as unknown[]);
  if (field.shape === "map") return { ...(base as Members), ...(over as Members) };
  if (field.type.kind === "struct") return { ...(base as Members), ...(over as Members) };
  if (field.type.kind === "message") return mergeMessages(field.type.name, base as Members, over as Members, lists);
  return over;
}
