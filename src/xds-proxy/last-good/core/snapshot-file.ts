import { createHash } from "node:crypto";
import { CodedError } from "../../../base/coded-error.ts";
import { bytes, int64, message, string } from "../../../protobuf/wire/message.ts";
import { keepResource, type Snapshot, typeOf } from "./snapshot.ts";

/** The file is not one of ours, is damaged, or is another node's. */
export class SnapshotFileError extends CodedError<"foreign" | "damaged" | "other-node"> {}

export interface SnapshotFile {
  readonly nodeId: string;
  /** Milliseconds since the epoch. */
  readonly savedAt: number;
  readonly snapshot: Snapshot;
}

const MAGIC = Buffer.from("pilot-agent last known good 1\n");
const CHECKSUM_BYTES = 32;
const LENGTH_BYTES = 4;

const header = message({ nodeId: string(1), savedAt: int64(2) });
/** Without `any`: the head of a type, whose resources follow. */
const entry = message({
  typeUrl: string(1),
  typeVersion: string(2),
  name: string(3),
  version: string(4),
  any: bytes(5),
});

/** The mark, the header, entries with their lengths, and a checksum over all of it. */
export function encodeSnapshotFile({ nodeId, savedAt, snapshot }: SnapshotFile): Buffer {
  const parts: Buffer[] = [MAGIC];
  const checksum = createHash("sha256").update(MAGIC);
  const add = (part: Buffer) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(part.length);
    checksum.update(length).update(part);
    parts.push(length, part);
  };
  add(header.encode({ nodeId, savedAt: BigInt(savedAt) }));
  for (const [typeUrl, { version: typeVersion, resources }] of snapshot) {
    add(entry.encode({ typeUrl, typeVersion }));
    for (const [name, { version, any }] of resources) add(entry.encode({ typeUrl, name, version, any }));
  }
  // Joined once: a configuration of many megabytes is not to be in memory twice more.
  return Buffer.concat([...parts, checksum.digest()]);
}

export function decodeSnapshotFile(file: Buffer, nodeId: string): SnapshotFile {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC))
    throw new SnapshotFileError("foreign", "it is not a file of this agent");
  const end = file.length - CHECKSUM_BYTES;
  const sum = createHash("sha256")
    .update(file.subarray(0, Math.max(0, end)))
    .digest();
  if (end < MAGIC.length || !sum.equals(file.subarray(end))) {
    throw new SnapshotFileError("damaged", "its checksum is wrong");
  }
  const parts = readParts(file.subarray(MAGIC.length, end));
  const head = header.decode(parts[0] ?? Buffer.alloc(0));
  if (head.nodeId !== nodeId) throw new SnapshotFileError("other-node", `it belongs to node ${head.nodeId}`);
  const snapshot: Snapshot = new Map();
  for (const part of parts.slice(1)) {
    const { typeUrl, typeVersion, name, version, any } = entry.decode(part);
    const stored = typeOf(snapshot, typeUrl);
    if (any.length === 0) stored.version = typeVersion;
    else keepResource(stored, name, { version, any: Buffer.from(any) });
  }
  return { nodeId, savedAt: Number(head.savedAt), snapshot };
}

function readParts(body: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const start = at + LENGTH_BYTES;
    if (start > body.length) throw new SnapshotFileError("damaged", "it is cut short");
    at = start + body.readUInt32BE(at);
    if (at > body.length) throw new SnapshotFileError("damaged", "it is cut short");
    parts.push(body.subarray(start, at));
  }
  return parts;
}
