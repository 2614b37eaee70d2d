import { copyFileSync, readdirSync, statfsSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Say } from "./start-options.ts";

const MAX_BYTES = 16 * 1024 * 1024;
/** Less room than this and old log lines go, so that agents can still write keys and configuration. */
const MIN_FREE_BYTES = 4 * 1024 * 1024;

/** Files are written in append mode, so cutting them off does not disturb the writer. One earlier file is kept beside each. */
export function limitLogs(folder: string, say: Say, maxBytes = MAX_BYTES): void {
  const isFull = freeBytes(folder) < MIN_FREE_BYTES;
  let cut = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const isOld = name.endsWith(".1");
    if (isFull && statSync(path).size > 0) {
      truncateSync(path);
      cut += 1;
    } else if (!isOld && statSync(path).size > maxBytes) {
      copyFileSync(path, `${path}.1`);
      truncateSync(path);
    }
  }
  if (cut > 0) say("warn", `the disk of ${folder} is full; logs were cut off to go on`);
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
