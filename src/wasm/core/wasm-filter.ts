import { encodeMessage } from "../../protobuf/binary/encode-message.ts";
import { TABLES } from "../../protobuf/gen/tables/wasm.ts";
import type { JsonDialect } from "../../protobuf/json/dialect.ts";
import { plainWords, STRICT_JSON } from "../../protobuf/json/plain-dialects.ts";
import { formatPath, readMessage } from "../../protobuf/json/read-message.ts";
import { MessageTables } from "../../protobuf/message-tables.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import { any } from "../../protobuf/wire/discovery.ts";
import { memberBytes, withMember } from "../../protobuf/wire/edit-members.ts";
import { bool, message, string, uint32 } from "../../protobuf/wire/message.ts";
import { decodeStruct, type JsonObject } from "../../protobuf/wire/struct.ts";
import { WIRE_BYTES, WireError, WireReader } from "../../protobuf/wire/wire-reader.ts";
import { EXTENSION_TYPE } from "../../xds/type-urls.ts";
import { WasmError } from "../wasm-error.ts";

const MESSAGES = new MessageTables(TABLES);
/** Of a plugin's own configuration only types known here can be encoded; plugins in the wild use StringValue and Struct. */
const WASM_JSON: JsonDialect = {
  ...STRICT_JSON,
  allowsEmptyAny: true,
  // A configuration may carry secrets.
  words: plainWords({ showsValues: false }),
};

export type FilterKind = "http" | "network";
export const FILTER_TYPES: Readonly<Record<FilterKind, string>> = {
  http: `${TYPE_PREFIX}envoy.extensions.filters.http.wasm.v3.Wasm`,
  network: `${TYPE_PREFIX}envoy.extensions.filters.network.wasm.v3.Wasm`,
};
const TYPED_STRUCTS = [`${TYPE_PREFIX}udpa.type.v1.TypedStruct`, `${TYPE_PREFIX}xds.type.v3.TypedStruct`];
const FILTER_TITLES: Readonly<Record<FilterKind, string>> = { http: "HTTP", network: "Network" };

/** Members by number; everything else of these messages is carried along unread. */
const CONFIG = 1;
const VM_CONFIG = 3;
export const CODE = 3;
export const ENVIRONMENT = 7;
const LOCAL = 1;
const REMOTE = 2;
const TYPED_CONFIG = 2;
/** Of envoy.extensions.wasm.v3.FailurePolicy. */
const FAIL_OPEN = 3;

const extensionName = message({ name: string(1) });
const pluginFacts = message({ failOpen: bool(5), failurePolicy: uint32(7) });

/** A filter whose code is to be fetched. */
export interface RemoteFilter {
  readonly filter: FilterKind;
  /** The resource's. */
  readonly name: string;
  /** The Wasm message, in any of its forms. */
  readonly wasm: Buffer;
  readonly failOpen: boolean;
  /** VmConfig and RemoteDataSource. */
  readonly vmConfig: Buffer;
  readonly remote: Buffer;
}

/** Undefined: there is nothing to fetch, the resource stays as it is. Throws `invalid-config` for what Envoy must never see. */
export function readRemoteFilter(resource: Buffer): RemoteFilter | undefined {
  const { typeUrl, value } = decoded(() => any.decode(resource), "the resource");
  if (typeUrl !== EXTENSION_TYPE)
    throw invalid(`mismatched message type: got ${JSON.stringify(typeUrl)}, want ${EXTENSION_TYPE}`);
  const extension = Buffer.from(value.buffer, value.byteOffset, value.length);
  const { name } = decoded(() => extensionName.decode(extension), "the extension configuration");
  const typed = decoded(() => memberBytes(extension, TYPED_CONFIG), name);
  if (typed === undefined)
    throw invalid(`typed extension config name:${JSON.stringify(name)} does not contain any typed config`);
  const found = decoded(() => readWasm(typed), name);
  if (found === undefined) return undefined;
  return decoded(() => {
    const plugin = memberBytes(found.wasm, CONFIG) ?? Buffer.alloc(0);
    const vmConfig = memberBytes(plugin, VM_CONFIG) ?? Buffer.alloc(0);
    const code = readCode(memberBytes(vmConfig, CODE) ?? Buffer.alloc(0));
    if (code === "local") return undefined;
    if (code === undefined)
      throw invalid(`no remote and local load found in Wasm ${FILTER_TITLES[found.filter]} filter ${name}`);
    return { ...found, name, failOpen: isFailOpen(plugin), vmConfig, remote: code };
  }, name);
}

/** The resource with another configuration under the same name. */
export function withTypedConfig(resource: Buffer, typeUrl: string, value: Buffer): Buffer {
  const extension = memberBytes(resource, 2) ?? Buffer.alloc(0);
  return withMember(resource, 2, withMember(extension, TYPED_CONFIG, any.encode({ typeUrl, value })));
}

/** The Wasm message with another VmConfig; its other fields, known or not, are unchanged. */
export function withVmConfig(wasm: Buffer, vmConfig: Buffer): Buffer {
  return withMember(wasm, CONFIG, withMember(memberBytes(wasm, CONFIG) ?? Buffer.alloc(0), VM_CONFIG, vmConfig));
}

function readWasm(typed: Buffer): { readonly filter: FilterKind; readonly wasm: Buffer } | undefined {
  const { typeUrl } = any.decode(typed);
  const value = memberBytes(typed, 2) ?? Buffer.alloc(0);
  const plain = filterOf(typeUrl);
  if (plain !== undefined) return { filter: plain, wasm: value };
  if (!TYPED_STRUCTS.includes(typeUrl)) return undefined;
  const filter = filterOf(any.decode(value).typeUrl);
  if (filter === undefined) return undefined;
  return { filter, wasm: encodeWasmJson(decodeStruct(memberBytes(value, 2) ?? Buffer.alloc(0))) };
}

function filterOf(typeUrl: string): FilterKind | undefined {
  if (typeUrl === FILTER_TYPES.http) return "http";
  return typeUrl === FILTER_TYPES.network ? "network" : undefined;
}

/** AsyncDataSource is a oneof: the member that comes last is the one that counts. */
function readCode(source: Buffer): "local" | Buffer | undefined {
  let last: number | undefined;
  const reader = new WireReader(source);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if ((field === LOCAL || field === REMOTE) && wire === WIRE_BYTES) last = field;
    reader.skip(wire);
  }
  if (last === undefined) return undefined;
  return last === LOCAL ? "local" : memberBytes(source, REMOTE);
}

function isFailOpen(plugin: Buffer): boolean {
  const { failOpen, failurePolicy } = pluginFacts.decode(plugin);
  return failurePolicy === 0 ? failOpen : failurePolicy === FAIL_OPEN;
}

/** What is not protobuf, or not of the shape it should have, is the sender's mistake. */
function decoded<Value>(decode: () => Value, what: string): Value {
  try {
    return decode();
  } catch (cause) {
    if (cause instanceof WireError) throw invalid(`failed to unmarshal ${what}: ${cause.message}`, cause);
    if (cause instanceof WasmError && what !== "" && !cause.message.includes(what))
      throw invalid(`${what}: ${cause.message}`, cause);
    throw cause;
  }
}

function invalid(text: string, cause?: unknown): WasmError {
  return new WasmError("invalid-config", text, { cause });
}

/** A Wasm filter of a TypedStruct as the message it describes. The HTTP and the network filter have the same one. */
export function encodeWasmJson(value: JsonObject): Buffer {
  const table = MESSAGES.message("envoy.extensions.filters.http.wasm.v3.Wasm");
  const { value: wasm, problems } = readMessage(table, value, WASM_JSON, ["value"]);
  const [first] = problems;
  if (first === undefined) return encodeMessage(table, wasm);
  throw new WasmError("invalid-config", `${formatPath(first.path)}: ${first.message}`);
}
