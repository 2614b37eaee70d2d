import { encodeMessage } from "../../protobuf/binary/encode-message.ts";
import { TABLES } from "../../protobuf/gen/tables/wasm.ts";
import type { JsonDialect } from "../../protobuf/json/dialect.ts";
import { plainWords, STRICT_JSON } from "../../protobuf/json/plain-dialects.ts";
import { formatPath, readMessage } from "../../protobuf/json/read-message.ts";
import { MessageTables } from "../../protobuf/message-tables.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";
import { WasmError } from "../wasm-error.ts";

const MESSAGES = new MessageTables(TABLES);

/** Of a plugin's own configuration only types known here can be encoded; plugins in the wild use StringValue and Struct. */
const WASM_JSON: JsonDialect = {
  ...STRICT_JSON,
  allowsEmptyAny: true,
  // A configuration may carry secrets.
  words: plainWords({ showsValues: false }),
};

/** A Wasm filter of a TypedStruct as the message it describes. The HTTP and the network filter have the same one. */
export function encodeWasmJson(value: JsonObject): Buffer {
  const table = MESSAGES.message("envoy.extensions.filters.http.wasm.v3.Wasm");
  const { value: wasm, problems } = readMessage(table, value, WASM_JSON, ["value"]);
  const [first] = problems;
  if (first === undefined) return encodeMessage(table, wasm);
  throw new WasmError("invalid-config", `${formatPath(first.path)}: ${first.message}`);
}
