import { WIRE_BYTES, WireReader } from "../../protobuf/wire/wire-reader.ts";
import { decodeShape, type MessageShape, shape } from "./message-shape.ts";

/** What objects of built-in kinds are asked for in; a server that cannot, or a proxy on the way, answers with JSON. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** Each object is behind these bytes, in a message that says what it is. */
const MAGIC = Buffer.from("k8s\0");
const TYPE_META = shape({ apiVersion: [1, "text"], kind: [2, "text"] });
const STATUS = shape({
  message: [3, "text"],
  reason: [4, "text"],
  details: [5, shape({ causes: [4, [shape({ reason: [1, "text"] })]], retryAfterSeconds: [5, "number"] })],
  code: [6, "number"],
});
const LIST_META = shape({ resourceVersion: [2, "text"], continue: [3, "text"] });
const LIST = new Map([...shape({ metadata: [1, LIST_META] })]);

interface Envelope {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly raw: Buffer;
}

/** Throws for bytes that are not an object. */
function openEnvelope(bytes: Buffer): Envelope {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error("not an object of Kubernetes");
  const reader = new WireReader(bytes, MAGIC.length);
  let type: { readonly apiVersion?: string; readonly kind?: string } = {};
  let raw: Buffer = Buffer.alloc(0);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) type = decodeShape(TYPE_META, reader.bytes(), unshared);
    else if (field === 2 && wire === WIRE_BYTES) raw = reader.bytes();
    else reader.skip(wire);
  }
  return { ...type, raw };
}

/** What a server answers instead of an object; undefined where the bytes are something else. */
export function decodeStatus(bytes: Buffer): object | undefined {
  try {
    const { kind, raw } = openEnvelope(bytes);
    return kind === "Status" ? { kind, ...decodeShape(STATUS, raw, unshared) } : undefined;
  } catch {
    return undefined;
  }
}

/** An object in the form of its JSON, as far as the shape says. */
export function decodeObject(bytes: Buffer, members: MessageShape, share: (text: string) => string): object {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  return { apiVersion, kind, ...decodeShape(members, raw, share) };
}

/** A page of a list in the form of its JSON. */
export function decodeList(bytes: Buffer, members: MessageShape, share: (text: string) => string): object {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  const items = { name: "items", type: { message: members, isList: true } };
  return { apiVersion, kind, items: [], ...decodeShape(new Map([...LIST, [2, items]]), raw, share) };
}

function unshared(text: string): string {
  return text;
}
