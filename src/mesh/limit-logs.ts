import { closeSync, openSync, readdirSync, readSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Say } from "./start-options.ts";

const MAX_BYTES = 16 * 1024 * 1024;
/** Less room than this and old log lines go, so that agents can still write keys and configuration. */
const MIN_FREE_BYTES = 4 * 1024 * 1024;

/** Files are written in append mode, so cutting them off does not disturb the writer. One earlier file stays beside each. */
export function limitLogs(folder: string, say: Say, maxBytes = MAX_BYTES): void {
  const isFull = freeBytes(folder) < MIN_FREE_BYTES;
  let cut = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const isOld = name.endsWith(".1");
    // A workload may be taken away at this moment, and its log with it.
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (isFull && size > 0) {
      truncateSync(path);
      cut += 1;
    } else if (!isOld && size > maxBytes) {
      keepEnd(path, `${path}.1`, { size, maxBytes: 2 * maxBytes });
      truncateSync(path);
    }
  }
  if (cut > 0) say("warn", `the disk of ${folder} is full; logs were cut off to go on`);
}

/** Of somebody who has written gigabytes since the last look only the end is copied: all of it would fill the disk, and take seconds. */
function keepEnd(path: string, copy: string, { size, maxBytes }: { size: number; maxBytes: number }): void {
  const file = openSync(path, "r");
  try {
    const end = Buffer.alloc(Math.min(size, maxBytes));
    const read = readSync(file, end, 0, end.length, size - end.length);
    writeFileSync(copy, end.subarray(0, read));
  } finally {
    closeSync(file);
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
