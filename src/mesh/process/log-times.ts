import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Applications write their logs themselves, without times: how long a log was when is noted beside it, once in a second at most. */
export interface LogTimes {
  note(path: string, size: number, now: number): void;
}

const EVERY_MS = 1000;

export function createLogTimes(): LogTimes {
  const last = new Map<string, { readonly at: number; readonly size: number }>();
  return {
    note(path, size, now) {
      const before = last.get(path) ?? { at: 0, size: 0 };
      const wasCut = size < before.size;
      if (!wasCut && (size === before.size || now - before.at < EVERY_MS)) return;
      last.set(path, { at: now, size });
      try {
        // The lines of one that was cut off are of after the last note.
        if (wasCut) writeFileSync(timesOf(path), "");
        appendFileSync(timesOf(path), `${now} ${size}\n`);
      } catch {
        // A full disk: the mesh goes on, and --since shows more than was asked for.
      }
    },
  };
}

/** What was written since then begins here, or a little later than here. */
export function positionSince(path: string, since: number): number {
  const notes = readNotes(path);
  return notes.findLast(({ at }) => at <= since)?.size ?? 0;
}

/** Notes of a log go with it when it is moved away; `cut` bytes of its beginning are not. */
export function moveTimes(path: string, target: string, cut: number): void {
  try {
    renameSync(timesOf(path), timesOf(target));
    if (cut === 0) return;
    const notes = readNotes(target).map(({ at, size }) => `${at} ${Math.max(0, size - cut)}\n`);
    writeFileSync(timesOf(target), notes.join(""));
  } catch {
    rmSync(timesOf(target), { force: true });
  }
}

function readNotes(path: string): readonly { readonly at: number; readonly size: number }[] {
  let text: string;
  try {
    text = readFileSync(timesOf(path), "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    const [at, size] = line.split(" ").map(Number);
    return at === undefined || size === undefined ? [] : [{ at, size }];
  });
}

function timesOf(path: string): string {
  return `${path}.times`;
}
