import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
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
const TAIL_BYTES = 256 * 1024;

/** Shows the ends of the logs, then what is added until the signal. Only whole lines are shown. */
export async function followLogs(sources: readonly LogSource[], options: FollowOptions): Promise<void> {
  const positions = new Map<string, number>();
  for (const source of sources) {
    const { text, end } = readFrom(source.path, Number.NEGATIVE_INFINITY);
    const shown = lastLines(text, options.tail);
    if (shown !== "") options.show(source, shown);
    positions.set(source.path, end);
  }
  while (options.follow && !options.signal.aborted) {
    await wait(POLL_MS, options.signal);
    for (const source of sources) {
      const { text, end } = readFrom(source.path, positions.get(source.path) ?? 0);
      if (text !== "") options.show(source, text);
      positions.set(source.path, end);
    }
  }
}

/** Whole lines from a position on; a file that was cut off is read from its start. */
function readFrom(path: string, position: number): { readonly text: string; readonly end: number } {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const start = position > size ? 0 : Math.max(position, size - TAIL_BYTES, 0);
    const buffer = Buffer.alloc(size - start);
    const read = readSync(file, buffer, 0, buffer.length, start);
    const whole = buffer.subarray(0, read).lastIndexOf("\n") + 1;
    return { text: buffer.subarray(0, whole).toString("utf8"), end: start + whole };
  } finally {
    closeSync(file);
  }
}
