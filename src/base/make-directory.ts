import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errorCode } from "./coded-error.ts";

/**
 * Makes a directory and its missing parents; resolves to the first one that was made, undefined when all of it was there. Not Node's own
 * recursive mkdir: that of Node 20 never ends in file systems where nothing can be made, such as below /proc.
 */
export async function makeDirectory(path: string, mode?: number): Promise<string | undefined> {
  const target = resolve(path);
  try {
    await mkdir(target, mode);
    return target;
  } catch (failure) {
    const code = errorCode(failure);
    const parent = dirname(target);
    if (code === "ENOENT" && parent !== target) {
      const first = await makeDirectory(parent, mode);
      // A parent that was there all along is not what is missing.
      if (first === undefined) return makeLast(target, mode);
      return (await makeDirectory(target, mode)) === undefined ? undefined : first;
    }
    if (await isDirectory(target)) return undefined;
    throw failure;
  }
}

async function makeLast(target: string, mode: number | undefined): Promise<string | undefined> {
  try {
    await mkdir(target, mode);
    return target;
  } catch (failure) {
    // Somebody else may have been quicker.
    if (errorCode(failure) === "EEXIST" && (await isDirectory(target))) return undefined;
    throw failure;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
