import { WireWriter } from "./wire-writer.ts";

/** google.protobuf.Struct from a JSON object. Members that JSON would leave out are left out. */
export function encodeStruct(object: Readonly<Record<string, unknown>>): Buffer {
  const writer = new WireWriter();
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const entry = new WireWriter();
    entry.string(1, key);
    entry.bytes(2, encodeValue(value));
    writer.bytes(1, entry.finish());
  }
  return writer.finish();
}

/** google.protobuf.Value: one field per kind, present even when it holds the kind's zero. */
function encodeValue(value: unknown): Buffer {
  const writer = new WireWriter();
  if (typeof value === "number") writer.double(2, value);
  else if (typeof value === "string") writer.string(3, value);
  else if (typeof value === "boolean") writer.uint32(4, value ? 1 : 0);
  else if (Array.isArray(value)) writer.bytes(6, encodeList(value));
  else if (typeof value === "object" && value !== null) writer.bytes(5, encodeStruct({ ...value }));
  else writer.uint32(1, 0);
  return writer.finish();
}

function encodeList(items: readonly unknown[]): Buffer {
  const writer = new WireWriter();
  for (const item of items) writer.bytes(1, encodeValue(item));
  return writer.finish();
}
