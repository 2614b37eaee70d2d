import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { errorCode } from "../../base/coded-error.ts";

const PIECE_BYTES = 256 * 1024;
/** Of a process that ended: more than its last words. */
const END_BYTES = 16 * 1024;

/** Whole lines of a log. */
export interface LogPiece {
  readonly text: string;
  readonly end: number;
  /** Nothing is left to read now. */
  readonly isAll: boolean;
}

export function readTail(path: string): LogPiece {
  return withFile(path, (file, size) => readPiece(file, size, Math.max(0, size - PIECE_BYTES)));
}

/** Whole lines from a position on; a file that was cut off is read from its start. */
export function readNewLines(path: string, position: number): LogPiece {
  return withFile(path, (file, size) => readPiece(file, size, position > size ? 0 : position));
}

function readPiece(file: number, size: number, start: number): LogPiece {
  const buffer = Buffer.alloc(Math.min(size - start, PIECE_BYTES));
  const bytes = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, start));
  const lines = bytes.lastIndexOf("\n") + 1;
  // A line that is longer than a piece is shown in pieces, or nothing behind it would ever be.
  const shown = lines === 0 && bytes.length === PIECE_BYTES ? bytes.length : lines;
  const end = start + shown;
  return { text: bytes.toString("utf8", 0, shown), end, isAll: shown === 0 || start + bytes.length >= size };
}

/** A log that is not there, because its mesh restarts, is empty for now. */
function withFile(path: string, read: (file: number, size: number) => LogPiece): LogPiece {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (thrown) {
    if (errorCode(thrown) !== "ENOENT") throw thrown;
    return { text: "", end: 0, isAll: true };
  }
  try {
    return read(file, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}

/** The last lines that were written behind a position; empty for a log that cannot be read. */
export function readLogEnd(path: string, from: number, count: number): readonly string[] {
  try {
    const { text } = withFile(path, (file, size) => {
      // One that was cut off meanwhile holds only newer lines.
      const start = Math.max(from > size ? 0 : from, size - END_BYTES);
      const buffer = Buffer.alloc(size - start);
      const read = readSync(file, buffer, 0, buffer.length, start);
      return { text: buffer.toString("utf8", 0, read), end: size, isAll: true };
    });
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-count);
  } catch {
    return [];
  }
}
