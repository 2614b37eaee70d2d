import { createWriteStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";
import { CodedError, errorMessage } from "../../base/coded-error.ts";

export class ArchiveError extends CodedError<"not-an-archive" | "member-missing" | "unsupported" | "corrupt"> {}

const END_RECORD = 0x06054b50;
const CENTRAL_RECORD = 0x02014b50;
const LOCAL_RECORD = 0x04034b50;
const END_RECORD_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const STORED = 0;
const DEFLATED = 8;

interface Member {
  readonly method: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly headerAt: number;
}

/** Writes one member of a zip file (a Python wheel is one) to `target`, streaming; `onProgress` hears the bytes written so far. */
export async function unpackMember(
  archive: string,
  name: string,
  target: string,
  onProgress: (bytes: number, total: number) => void = () => undefined,
): Promise<void> {
  const file = await open(archive, "r");
  try {
    const member = await findMember(file, name);
    const header = await readAt(file, member.headerAt, 30);
    if (header.readUInt32LE(0) !== LOCAL_RECORD)
      throw new ArchiveError("corrupt", `${archive}: no local header for ${name}`);
    const start = member.headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
    const packed = file.createReadStream({ start, end: start + member.packedBytes - 1, autoClose: false });
    let written = 0;
    const counter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        written += chunk.length;
        onProgress(written, member.bytes);
        done(null, chunk);
      },
    });
    const sink = createWriteStream(target, { mode: 0o600, flags: "wx" });
    if (member.method === STORED) await pipeline(packed, counter, sink);
    else await pipeline(packed, createInflateRaw(), counter, sink);
    if (written !== member.bytes) {
      throw new ArchiveError("corrupt", `${archive}: ${name} has ${written} bytes, the directory says ${member.bytes}`);
    }
  } catch (cause) {
    // Damage shows in several ways: a range error, an inflate error, an early end.
    if (cause instanceof ArchiveError || isSystemError(cause)) throw cause;
    throw new ArchiveError("corrupt", `${archive}: ${errorMessage(cause)}`, { cause });
  } finally {
    await file.close();
  }
}

/** A full disk or a missing folder is not the archive's fault. */
function isSystemError(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "syscall" in thrown;
}

async function findMember(file: FileHandle, name: string): Promise<Member> {
  const { size } = await file.stat();
  const tailAt = Math.max(0, size - END_RECORD_BYTES - MAX_COMMENT_BYTES);
  const tail = await readAt(file, tailAt, size - tailAt);
  const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end === -1 || tail.length - end < END_RECORD_BYTES || tail.readUInt32LE(end) !== END_RECORD) {
    throw new ArchiveError("not-an-archive", "no zip directory found");
  }
  const directory = await readAt(file, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12));
  for (let at = 0; at + 46 <= directory.length && directory.readUInt32LE(at) === CENTRAL_RECORD; ) {
    const nameBytes = directory.readUInt16LE(at + 28);
    const next = at + 46 + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
    if (directory.toString("utf8", at + 46, at + 46 + nameBytes) === name) {
      const method = directory.readUInt16LE(at + 10);
      if (method !== STORED && method !== DEFLATED)
        throw new ArchiveError("unsupported", `${name}: compression method ${method}`);
      const packedBytes = directory.readUInt32LE(at + 20);
      if (packedBytes === 0) throw new ArchiveError("corrupt", `${name} is empty`);
      return { method, packedBytes, bytes: directory.readUInt32LE(at + 24), headerAt: directory.readUInt32LE(at + 42) };
    }
    at = next;
  }
  throw new ArchiveError("member-missing", `the archive has no member ${name}`);
}

/** Lengths come from the archive itself: one beyond the file's end must not become a buffer of that size. */
async function readAt(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const { size } = await file.stat();
  if (start + length > size) throw new ArchiveError("corrupt", "the archive ends early");
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
  if (bytesRead < buffer.length) throw new ArchiveError("corrupt", "the archive ends early");
  return buffer;
}
