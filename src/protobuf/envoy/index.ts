import { decodeMessage as decode } from "../binary/decode-message.ts";
import { encodeMessage as encode, encodeAny as encodeTyped } from "../binary/encode-message.ts";
import { CodecError } from "../codec-error.ts";
import type { MessageTypes } from "../gen/envoy-types.ts";
import { TABLES as ENVOY } from "../gen/tables/envoy.ts";
import { TABLES as EXTENSIONS } from "../gen/tables/envoy-extensions.ts";
import { TABLES as STATUS } from "../gen/tables/status.ts";
import { TABLES as WASM } from "../gen/tables/wasm.ts";
import type { JsonDialect } from "../json/dialect.ts";
import { STRICT_JSON } from "../json/plain-dialects.ts";
import { formatPath, readMessage } from "../json/read-message.ts";
import type { AnyMessage } from "../json-types.ts";
import { type MergeMode, mergeMessages as merge, mergeAny as mergePacked } from "../merge-messages.ts";
import { type EnumTable, MessageTables } from "../message-tables.ts";
import { TYPE_PREFIX } from "../type-url.ts";

export { constantMessage } from "../binary/encode-message.ts";
export { CodecError } from "../codec-error.ts";
export type { AnyMessage } from "../json-types.ts";
export type MessageName = keyof MessageTypes & string;

/** Envoy's API by the names of its messages, with the extensions that only users' patches name. */
const TABLES = new MessageTables(WASM, STATUS, ENVOY, EXTENSIONS);

/** Envoy's messages are known by their full names. */
const ENVOY_JSON: JsonDialect = {
  ...STRICT_JSON,
  words: (fault, value) =>
    fault.code === "unknown" ? `${fault.name} has no member ${fault.key}` : STRICT_JSON.words(fault, value),
};

/** The wire form of a message given in proto3 JSON form. A member that the message does not have is an error. */
export function encodeMessage<Name extends MessageName>(name: Name, value: MessageTypes[Name]): Buffer {
  return encode(TABLES.message(name), value);
}

/** The message as an encoded google.protobuf.Any, as xDS responses carry resources. */
export function encodeAny<Name extends MessageName>(name: Name, value: MessageTypes[Name]): Buffer {
  return encodeTyped(TYPE_PREFIX + name, TABLES.message(name), value);
}

/** A message in canonical proto3 JSON form: zero values are absent, unknown fields are passed over. */
export function decodeMessage<Name extends MessageName>(name: Name, bytes: Buffer): MessageTypes[Name] {
  return decode(TABLES.message(name), bytes) as MessageTypes[Name];
}

/** A message as the value of an Any. */
export function pack<Name extends MessageName>(name: Name, value: MessageTypes[Name]): AnyMessage {
  return { "@type": TYPE_PREFIX + name, ...value };
}

export function mergeMessages<Message extends object>(
  name: string,
  base: Message,
  over: object,
  mode?: MergeMode,
): Message {
  return merge(TABLES.message(name), base, over, mode);
}

/** Undefined for messages of different types, which nothing can be made of. */
export function mergeAny(base: AnyMessage, over: AnyMessage): AnyMessage | undefined {
  return mergePacked(TABLES, base, over);
}

export function enumTable(name: string): EnumTable {
  return TABLES.enum(name);
}

/**
 * A message as somebody wrote it, in the canonical form that the other functions here take: members may be spelled as in the .proto files
 * or in JSON's way. What no such message can hold is an error that says where it is.
 */
export function parseMessage(name: string, value: unknown): Readonly<Record<string, unknown>> {
  const { value: parsed, problems } = readMessage(TABLES.message(name), value, ENVOY_JSON);
  const [first] = problems;
  if (first === undefined) return parsed;
  const where = formatPath(first.code === "unknown" ? first.path.slice(0, -1) : first.path);
  throw new CodecError("bad-value", where === "" ? first.message : `${where}: ${first.message}`);
}
