import { parseDuration } from "../../base/duration.ts";
import { any, duration } from "../../protocol/protobuf/discovery.ts";
import { encodeStruct, encodeValue, type JsonValue } from "../../protocol/protobuf/struct.ts";
import { WireWriter } from "../../protocol/protobuf/wire-writer.ts";
import {
  asBoolean,
  asInteger,
  asObject,
  asString,
  decodeBase64,
  type JsonMessage,
  jsonMessage,
  member,
  text,
  wrong,
} from "./json-message.ts";

const GOOGLEAPIS = "type.googleapis.com/";
const NANOSECONDS = 1_000_000_000n;

export const jsonStruct: JsonMessage = { encode: (value, path) => encodeStruct(asObject(value, path)) };

/** "30s", "0.5s": seconds only, as proto JSON has them. */
export const jsonDuration: JsonMessage = {
  encode(value, path) {
    const written = asString(value, path);
    if (!/^\d{1,12}(\.\d{1,9})?s$/.test(written)) throw wrong(path, `no duration such as "30s" or "0.5s"`);
    const nanoseconds = parseDuration(written);
    const nanos = Number(nanoseconds % NANOSECONDS);
    return duration.encode({ seconds: nanoseconds / NANOSECONDS, nanos });
  },
};

export const jsonUint32Value: JsonMessage = wrapper((writer, value, path) => {
  const number = asInteger(value, path);
  if (number < 0 || number > 0xffffffff) throw wrong(path, "out of range");
  if (number !== 0) writer.uint32(1, number);
});

export const jsonBoolValue: JsonMessage = wrapper((writer, value, path) => {
  if (asBoolean(value, path)) writer.uint32(1, 1);
});

const integerValue = wrapper((writer, value, path) => writer.int64(1, BigInt(asInteger(value, path))));

/** Types whose JSON stands in a member "value" of the Any, because it may be no object. */
const VALUE_TYPES: ReadonlyMap<string, JsonMessage> = new Map<string, JsonMessage>([
  ["google.protobuf.StringValue", wrapper((writer, value, path) => writer.string(1, asString(value, path)))],
  [
    "google.protobuf.BytesValue",
    wrapper((writer, value, path) => writer.bytes(1, decodeBase64(asString(value, path), path))),
  ],
  ["google.protobuf.BoolValue", jsonBoolValue],
  ["google.protobuf.UInt32Value", jsonUint32Value],
  ["google.protobuf.Int32Value", integerValue],
  ["google.protobuf.Int64Value", integerValue],
  ["google.protobuf.UInt64Value", integerValue],
  [
    "google.protobuf.DoubleValue",
    wrapper((writer, value, path) => {
      if (typeof value !== "number") throw wrong(path, "not a number");
      writer.double(1, value);
    }),
  ],
  ["google.protobuf.Struct", jsonStruct],
  ["google.protobuf.Value", { encode: (value) => encodeValue(value) }],
  ["google.protobuf.Duration", jsonDuration],
]);

const typedStruct = jsonMessage("TypedStruct", { type_url: text(1), value: member(2, jsonStruct) });

/** Types whose fields stand beside "@type". */
const PLAIN_TYPES: ReadonlyMap<string, JsonMessage> = new Map([
  ["google.protobuf.Empty", jsonMessage("Empty", {})],
  ["udpa.type.v1.TypedStruct", typedStruct],
  ["xds.type.v3.TypedStruct", typedStruct],
]);

/** A plugin's own configuration. Only types known here can be encoded; plugins in the wild use StringValue and Struct. */
export const jsonAny: JsonMessage = {
  encode(value, path) {
    const { "@type": type, ...fields } = asObject(value, path);
    const typeUrl = asString(type ?? null, `${path}["@type"]`);
    const name = typeUrl.startsWith(GOOGLEAPIS) ? typeUrl.slice(GOOGLEAPIS.length) : "";
    const valued = VALUE_TYPES.get(name);
    if (valued === undefined) {
      const plain = PLAIN_TYPES.get(name);
      if (plain === undefined) throw wrong(path, `unable to resolve ${JSON.stringify(typeUrl)}`);
      return any.encode({ typeUrl, value: plain.encode(fields, path) });
    }
    const { value: inner, ...rest } = fields;
    const extra = Object.keys(rest)[0];
    if (extra !== undefined) throw wrong(path, `unknown field ${JSON.stringify(extra)} beside a ${name}`);
    return any.encode({ typeUrl, value: inner === undefined ? Buffer.alloc(0) : valued.encode(inner, path) });
  },
};

function wrapper(write: (writer: WireWriter, value: JsonValue, path: string) => void): JsonMessage {
  return {
    encode(value, path) {
      const writer = new WireWriter();
      write(writer, value, path);
      return writer.finish();
    },
  };
}
