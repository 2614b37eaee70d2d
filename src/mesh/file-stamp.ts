import { statSync } from "node:fs";

export interface FileStamp {
  /** Equal as long as the file is the same. */
  readonly text: string;
  /** Since its last change. */
  readonly ageMs: number;
}

/** Editors empty a file before they write it; one that was changed this recently may be half of itself. */
export const SETTLED_MS = 250;

/** An empty text for a file that is not there or cannot be looked at. */
export function stampOf(path: string): FileStamp {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return { text: `${mtimeMs}/${size}/${ino}`, ageMs: Math.abs(Date.now() - mtimeMs) };
  } catch {
    return { text: "", ageMs: Number.POSITIVE_INFINITY };
  }
}
