import { closeSync, openSync, writeSync } from "node:fs";
import { errorCode, errorMessage } from "../coded-error.ts";
import { LogOptionError } from "./scope-levels.ts";

/** Where lines go. Writing is synchronous, so that nothing is lost when the process ends right after. */
export interface LogTarget {
  write(line: string, encoding?: BufferEncoding): void;
  close(): void;
}

const STDOUT = 1;
const STDERR = 2;

/** `stdout`, `stderr` or a file that is appended to. */
export function openLogTarget(name: string): LogTarget {
  if (name === "stdout") return descriptorTarget(STDOUT, () => undefined);
  if (name === "stderr") return descriptorTarget(STDERR, () => undefined);
  try {
    const descriptor = openSync(name, "a", 0o666);
    return descriptorTarget(descriptor, () => closeSync(descriptor));
  } catch (cause) {
    const message = `open sink "${name}": open ${name}: ${describeSystemError(cause)}`;
    throw new LogOptionError("unusable-target", message, { cause });
  }
}

/** The operating system's words for common failures, as the reference prints them. */
export function describeSystemError(thrown: unknown): string {
  const words: Readonly<Record<string, string>> = {
    ENOENT: "no such file or directory",
    EACCES: "permission denied",
    EISDIR: "is a directory",
    ENOTDIR: "not a directory",
    EROFS: "read-only file system",
    ENOSPC: "no space left on device",
  };
  return words[errorCode(thrown) ?? ""] ?? errorMessage(thrown);
}

function descriptorTarget(descriptor: number, close: () => void): LogTarget {
  return { write: (line, encoding) => writeFully(descriptor, Buffer.from(line, encoding)), close };
}

/** A pipe set non-blocking by its reader answers EAGAIN when full: wait for it rather than lose the line. */
function writeFully(descriptor: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (thrown) {
      if (errorCode(thrown) !== "EAGAIN") throw thrown;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
