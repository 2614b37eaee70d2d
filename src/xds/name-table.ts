import { isUtf8 } from "node:buffer";
import { CodedError, errorMessage } from "../base/coded-error.ts";
import { WIRE_BYTES, WireReader } from "../protobuf/wire/wire-reader.ts";
import { WireWriter } from "../protobuf/wire/wire-writer.ts";

/** `istio.networking.nds.v1.NameTable.NameInfo`; absent and empty fields mean the same, as in proto3. */
export interface NameInfo {
  readonly ips: readonly string[];
  /** "Kubernetes", "External" or "Mock". */
  readonly registry?: string;
  readonly shortname?: string;
  readonly namespace?: string;
  readonly altHosts?: readonly string[];
}

/** `istio.networking.nds.v1.NameTable`: host name to addresses. */
export interface NameTable {
  readonly table: Readonly<Record<string, NameInfo>>;
}

export class NameTableError extends CodedError<"invalid-name-table"> {}

/** The name table in the bytes of an NDS resource. Throws {@link NameTableError} for bytes that do not decode. */
export function decodeNameTable(bytes: Uint8Array): NameTable {
  // No prototype: a host may be called "constructor".
  const table: Record<string, NameInfo> = Object.create(null);
  try {
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    forEachBytesField(message, (field, value) => {
      if (field === 1) readEntry(value, table);
    });
  } catch (cause) {
    throw new NameTableError("invalid-name-table", errorMessage(cause), { cause });
  }
  return { table };
}

/** The bytes that `decodeNameTable` reads. */
export function encodeNameTable({ table }: NameTable): Buffer {
  const message = new WireWriter();
  for (const [host, info] of Object.entries(table)) {
    const entry = new WireWriter();
    entry.string(1, host);
    entry.bytes(2, encodeNameInfo(info));
    message.bytes(1, entry.finish());
  }
  return message.finish();
}

function readEntry(entry: Buffer, table: Record<string, NameInfo>): void {
  let host = "";
  let info: NameInfo = { ips: [] };
  forEachBytesField(entry, (field, value) => {
    if (field === 1) host = utf8(value);
    else if (field === 2) info = readNameInfo(value);
  });
  table[host] = info;
}

function readNameInfo(message: Buffer): NameInfo {
  const ips: string[] = [];
  const altHosts: string[] = [];
  let registry = "";
  let shortname = "";
  let namespace = "";
  forEachBytesField(message, (field, value) => {
    if (field === 1) ips.push(utf8(value));
    else if (field === 2) registry = utf8(value);
    else if (field === 3) shortname = utf8(value);
    else if (field === 4) namespace = utf8(value);
    else if (field === 5) altHosts.push(utf8(value));
  });
  return { ips, registry, shortname, namespace, altHosts };
}

/** Every known field is length-delimited; a known number with another wire type is an unknown field, as in other implementations. */
function forEachBytesField(message: Buffer, read: (field: number, value: Buffer) => void): void {
  const reader = new WireReader(message);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire === WIRE_BYTES) read(field, reader.bytes());
    else reader.skip(wire);
  }
}

function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new NameTableError("invalid-name-table", "string field contains invalid UTF-8");
  return bytes.toString("utf8");
}

function encodeNameInfo(info: NameInfo): Buffer {
  const writer = new WireWriter();
  for (const ip of info.ips) writer.string(1, ip);
  if (info.registry) writer.string(2, info.registry);
  if (info.shortname) writer.string(3, info.shortname);
  if (info.namespace) writer.string(4, info.namespace);
  for (const host of info.altHosts ?? []) writer.string(5, host);
  return writer.finish();
}
