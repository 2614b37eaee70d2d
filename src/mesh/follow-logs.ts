import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { lastLines } from "./core/log-lines.ts";

export interface LogSource {
  /** `front/app` */
  readonly name: string;
  readonly path: string;
}

/** The logs of a mesh; of one workload, or of one of its parts, when named. */
export function findLogs(folder: string, wanted: string | undefined): readonly LogSource[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".log"))
    .sort()
    .map((name) => ({ name: name.slice(0, -".log".length).replace(/\.(app|agent)$/, "/$1"), path: join(folder, name) }))
    .filter(({ name }) => wanted === undefined || name === wanted || name.startsWith(`${wanted}/`));
}

export interface FollowOptions {
  /** Lines of each log to begin with. */
  readonly tail: number;
  readonly follow: boolean;
  readonly signal: AbortSignal;
  show(source: LogSource, text: string): void;
}

const POLL_MS = 200;
const PIECE_BYTES = 256 * 1024;

/** Shows the ends of the logs, then what is added until the signal. Only whole lines are shown. */
export async function followLogs(sources: readonly LogSource[], options: FollowOptions): Promise<void> {
  const positions = new Map<string, number>();
  for (const source of sources) {
    const { text, end } = readTail(source.path);
    const shown = lastLines(text, options.tail);
    if (shown !== "") options.show(source, shown);
    positions.set(source.path, end);
  }
  while (options.follow && !options.signal.aborted) {
    await wait(POLL_MS, options.signal);
    for (const source of sources) {
      // Piece by piece: somebody may have written more than belongs into memory.
      for (;;) {
        const { text, end, isAll } = readFrom(source.path, positions.get(source.path) ?? 0);
        if (text !== "") options.show(source, text);
        positions.set(source.path, end);
        if (isAll || options.signal.aborted) break;
      }
    }
  }
}

interface Piece {
  readonly text: string;
  readonly end: number;
  /** Nothing is left to read now. */
  readonly isAll: boolean;
}

function readTail(path: string): Piece {
  return withFile(path, (file, size) => readPiece(file, size, Math.max(0, size - PIECE_BYTES)));
}

/** Whole lines from a position on; a file that was cut off is read from its start. */
function readFrom(path: string, position: number): Piece {
  return withFile(path, (file, size) => readPiece(file, size, position > size ? 0 : position));
}

function readPiece(file: number, size: number, start: number): Piece {
  const buffer = Buffer.alloc(Math.min(size - start, PIECE_BYTES));
  const bytes = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, start));
  const lines = bytes.lastIndexOf("\n") + 1;
  // A line that is longer than a piece is shown in pieces, or nothing behind it would ever be.
  const shown = lines === 0 && bytes.length === PIECE_BYTES ? bytes.length : lines;
  const end = start + shown;
  return { text: bytes.toString("utf8", 0, shown), end, isAll: shown === 0 || start + bytes.length >= size };
}

/** A log that is not there, because its mesh restarts, is empty for now. */
function withFile(path: string, read: (file: number, size: number) => Piece): Piece {
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
