import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import type { NameInfo, NameTable } from "./name-table-message.ts";

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

function encodeNameInfo(info: NameInfo): Buffer {
  const writer = new WireWriter();
  for (const ip of info.ips) writer.string(1, ip);
  if (info.registry) writer.string(2, info.registry);
  if (info.shortname) writer.string(3, info.shortname);
  if (info.namespace) writer.string(4, info.namespace);
  for (const host of info.altHosts ?? []) writer.string(5, host);
  return writer.finish();
}
