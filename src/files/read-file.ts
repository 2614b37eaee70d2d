import { constants, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";

/** What the system itself would not refuse. Its own errors pass as they are, so that callers branch on one `code`. */
export class FileError extends CodedError<"EISDIR" | "not-regular" | "too-large"> {}

/** Far above any certificate bundle, mesh file or bootstrap: a path must not make a process read a disk image into memory. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** Opening a named pipe without a writer would hold a thread of the pool for ever. */
export const NON_BLOCKING = constants.O_RDONLY | constants.O_NONBLOCK;

/** A regular file's bytes. Rejects with the system's error or a `FileError`. */
export async function readFileLimited(path: string, maxBytes = MAX_FILE_BYTES): Promise<Buffer> {
  const file = await open(path, NON_BLOCKING);
  try {
    const collected = startCollecting(path, await file.stat(), maxBytes);
    for (;;) {
      const { bytesRead } = await file.read(collected.room());
      if (collected.took(bytesRead)) return collected.bytes();
    }
  } finally {
    await file.close();
  }
}

export async function readTextLimited(path: string, maxBytes = MAX_FILE_BYTES): Promise<string> {
  return (await readFileLimited(path, maxBytes)).toString("utf8");
}

export function startCollecting(path: string, found: Stats, maxBytes: number) {
  if (found.isDirectory()) throw new FileError("EISDIR", `read ${path}: is a directory`);
  if (!found.isFile() && path !== "/dev/null") throw new FileError("not-regular", `read ${path}: not a regular file`);
  return createCollector(path, found.size, maxBytes);
}

/** The limit also holds for a file that grows while it is read, and for one whose size the system does not say (0 then). */
export function createCollector(path: string, size: number, maxBytes: number) {
  const tooLarge = () => new FileError("too-large", `read ${path}: larger than ${maxBytes} bytes`);
  if (size > maxBytes) throw tooLarge();
  let buffer = Buffer.allocUnsafe(size + 1);
  let length = 0;
  return {
    /** Where the next bytes go. */
    room(): Buffer {
      if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * length + 4096, maxBytes + 1));
      return buffer.subarray(length);
    },
    /** True at the end. */
    took(count: number): boolean {
      length += count;
      if (length > maxBytes) throw tooLarge();
      return count === 0 || length === size;
    },
    bytes: () => buffer.subarray(0, length),
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  ENOTDIR: "not a directory",
  ELOOP: "too many levels of symbolic links",
  EMFILE: "too many open files",
};

/** A failed read in the words operators know from other programs of the mesh: `open PATH: permission denied`. */
export function fileErrorText(path: string, thrown: unknown): string {
  if (thrown instanceof FileError) return thrown.message;
  return `open ${path}: ${REASONS[errorCode(thrown) ?? ""] ?? errorMessage(thrown)}`;
}

/** Whether the file is not there, as opposed to unreadable. */
export function isMissingFile(thrown: unknown): boolean {
  const code = errorCode(thrown);
  return code === "ENOENT" || code === "ENOTDIR";
}
