import { any } from "../../protobuf/wire/discovery.ts";
import { encodeStruct, encodeValue, isList, type JsonValue } from "../../protobuf/wire/struct.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import {
  asBoolean,
  asInteger,
  asObject,
  asString,
  decodeBase64,
  INT32,
  INT64,
  type IntegerRange,
  type JsonMessage,
  jsonMessage,
  member,
  text,
  toNumber,
  UINT32,
  UINT64,
  wrong,
} from "./json-message.ts";

export const jsonStruct: JsonMessage = { encode: (value, path) => encodeStruct(asObject(value, path)) };

/** "30s", "0.5s", "-1s": seconds only, as proto JSON has them. */
export const jsonDuration: JsonMessage = {
  encode(value, path) {
    const written = asString(value, path);
    if (!DURATION.test(written)) throw wrong(path, `no duration such as "30s" or "0.5s"`);
    const [, sign, whole = "", fraction = ""] = DURATION.exec(written) ?? [];
    const unit = sign === "-" ? -1n : 1n;
    const seconds = unit * BigInt(whole || "0");
    const nanos = unit * BigInt(fraction.padEnd(9, "0"));
    if (seconds * unit > MAX_DURATION_SECONDS) throw wrong(path, "out of range");
    const writer = new WireWriter();
    if (seconds !== 0n) writer.int64(1, seconds);
    if (nanos !== 0n) writer.int64(2, nanos);
    return writer.finish();
  },
};
const DURATION = /^([-+]?)(?=\.?\d)(\d{0,12})(?:\.(\d{0,9}))?s$/;
/** Ten thousand years. */
const MAX_DURATION_SECONDS = 315_576_000_000n;

export const jsonUint32Value = integerWrapper(UINT32);

export const jsonBoolValue: JsonMessage = wrapper((writer, value, path) => {
  if (asBoolean(value, path)) writer.uint32(1, 1);
});

/** Types whose JSON stands in a member "value" of the Any, because it may be no object. */
const VALUE_TYPES: ReadonlyMap<string, JsonMessage> = new Map<string, JsonMessage>([
  [
    "google.protobuf.StringValue",
    wrapper((writer, value, path) => {
      if (asString(value, path) !== "") writer.string(1, asString(value, path));
    }),
  ],
  [
    "google.protobuf.BytesValue",
    wrapper((writer, value, path) => {
      const bytes = decodeBase64(asString(value, path), path);
      if (bytes.length > 0) writer.bytes(1, bytes);
    }),
  ],
  ["google.protobuf.BoolValue", jsonBoolValue],
  ["google.protobuf.UInt32Value", jsonUint32Value],
  ["google.protobuf.Int32Value", integerWrapper(INT32)],
  ["google.protobuf.Int64Value", integerWrapper(INT64)],
  ["google.protobuf.UInt64Value", integerWrapper(UINT64)],
  [
    "google.protobuf.DoubleValue",
    wrapper((writer, value, path) => {
      const number = asDouble(value, path);
      if (!Object.is(number, 0)) writer.double(1, number);
    }),
  ],
  [
    "google.protobuf.FloatValue",
    wrapper((writer, value, path) => {
      const number = asDouble(value, path);
      if (Number.isFinite(number) && !Number.isFinite(Math.fround(number))) throw wrong(path, "out of range");
      if (!Object.is(number, 0)) writer.float(1, number);
    }),
  ],
  ["google.protobuf.Struct", jsonStruct],
  ["google.protobuf.Value", { encode: (value) => encodeValue(value) }],
  [
    "google.protobuf.ListValue",
    wrapper((writer, value, path) => {
      if (!isList(value)) throw wrong(path, "not a list");
      for (const item of value) writer.bytes(1, encodeValue(item));
    }),
  ],
  ["google.protobuf.Duration", jsonDuration],
  ["google.protobuf.Any", { encode: (value, path) => jsonAny.encode(value, path) }],
]);

const typedStruct = jsonMessage("TypedStruct", { type_url: text(1), value: member(2, jsonStruct) });

/** Types whose fields stand beside "@type". */
const PLAIN_TYPES: ReadonlyMap<string, JsonMessage> = new Map([
  // Of those that have a "value" the only one that may go without.
  [
    "google.protobuf.Empty",
    jsonMessage("Empty", { value: { write: (_writer, value, path) => void noFields(value, path) } }),
  ],
  ["udpa.type.v1.TypedStruct", typedStruct],
  ["xds.type.v3.TypedStruct", typedStruct],
]);

/**
 * A plugin's own configuration. Only types known here can be encoded; plugins in the wild use StringValue and Struct. A type is known by
 * what follows the last slash of its address, whatever stands before it.
 */
export const jsonAny: JsonMessage = {
  encode(value, path) {
    const document = asObject(value, path);
    if (Object.keys(document).length === 0) return Buffer.alloc(0);
    const { "@type": type, ...fields } = document;
    const typeUrl = asString(type ?? null, `${path}["@type"]`);
    const name = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
    const valued = VALUE_TYPES.get(name);
    if (valued === undefined) {
      const plain = PLAIN_TYPES.get(name);
      if (plain === undefined) throw wrong(path, `unable to resolve ${JSON.stringify(typeUrl)}`);
      return any.encode({ typeUrl, value: plain.encode(fields, path) });
    }
    const { value: inner, ...rest } = fields;
    const extra = Object.keys(rest)[0];
    if (extra !== undefined) throw wrong(path, `unknown field ${JSON.stringify(extra)} beside a ${name}`);
    if (inner === undefined) throw wrong(path, `no "value" in a ${name}`);
    return any.encode({ typeUrl, value: valued.encode(inner, path) });
  },
};

function noFields(value: JsonValue, path: string): void {
  const extra = Object.keys(asObject(value, path))[0];
  if (extra !== undefined) throw wrong(path, `unknown field ${JSON.stringify(extra)} in Empty`);
}

/** Numbers that JSON has no form for are written as text. */
function asDouble(value: JsonValue, path: string): number {
  const number = value === "NaN" || value === "Infinity" || value === "-Infinity" ? Number(value) : toNumber(value);
  if (number === undefined) throw wrong(path, "not a number");
  return number;
}

function integerWrapper(range: IntegerRange): JsonMessage {
  return wrapper((writer, value, path) => {
    const integer = asInteger(value, path, range);
    if (integer !== 0n) writer.int64(1, integer);
  });
}

function wrapper(write: (writer: WireWriter, value: JsonValue, path: string) => void): JsonMessage {
  return {
    encode(value, path) {
      const writer = new WireWriter();
      write(writer, value, path);
      return writer.finish();
    },
  };
}
