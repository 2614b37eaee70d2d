import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorCode } from "../base/coded-error.ts";

/**
 * Makes a directory and its missing parents; resolves to the first one that was made, undefined when all of it was there. Not Node's own
 * recursive mkdir: that of Node 20 never ends in file systems where nothing can be made, such as below /proc. On this thread: others would
 * take longer to be asked.
 */
export async function makeDirectory(path: string, mode?: number): Promise<string | undefined> {
  return make(resolve(path), mode);
}

function make(target: string, mode: number | undefined): string | undefined {
  try {
    mkdirSync(target, mode);
    return target;
  } catch (failure) {
    const code = errorCode(failure);
    const parent = dirname(target);
    if (code === "ENOENT" && parent !== target) {
      const first = make(parent, mode);
      // A parent that was there all along is not what is missing.
      if (first === undefined) return makeLast(target, mode);
      return make(target, mode) === undefined ? undefined : first;
    }
    if (isDirectory(target)) return undefined;
    throw failure;
  }
}

function makeLast(target: string, mode: number | undefined): string | undefined {
  try {
    mkdirSync(target, mode);
    return target;
  } catch (failure) {
    // Somebody else may have been quicker.
    if (errorCode(failure) === "EEXIST" && isDirectory(target)) return undefined;
    throw failure;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
