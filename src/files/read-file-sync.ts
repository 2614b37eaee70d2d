import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { createCollector, FileError, MAX_FILE_BYTES, NON_BLOCKING, startCollecting } from "./read-file.ts";

/** As `readTextLimited`, for code that cannot wait. */
export function readTextLimitedSync(path: string, maxBytes = MAX_FILE_BYTES): string {
  const file = openSync(path, NON_BLOCKING);
  try {
    return readAll(file, startCollecting(path, fstatSync(file), maxBytes));
  } finally {
    closeSync(file);
  }
}

/** What a user names at the terminal: a pipe is as good as a file there (`-f <(generate)`), and `-` is the standard input. */
export function readInputSync(path: string, maxBytes = MAX_FILE_BYTES): string {
  const file = path === "-" ? 0 : openSync(path, constants.O_RDONLY);
  try {
    if (fstatSync(file).isDirectory()) throw new FileError("EISDIR", `read ${path}: is a directory`);
    return readAll(file, createCollector(path, 0, maxBytes));
  } finally {
    if (file !== 0) closeSync(file);
  }
}

function readAll(file: number, collected: ReturnType<typeof createCollector>): string {
  while (!collected.took(readSync(file, collected.room())));
  return collected.bytes().toString("utf8");
}
