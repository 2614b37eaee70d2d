import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { errorCode } from "../base/coded-error.ts";
import { cannotExecute, type EnvoyExit } from "./core/exit-text.ts";

export type Executable = { readonly path: string; readonly stats: Stats } | { readonly problem: EnvoyExit };

/**
 * Looks before the leap: Envoy is started through another program (setpriv), whose own failure to execute it would only be an exit
 * code. A bare name is searched for in `searchPath`.
 */
export function findExecutable(program: string, searchPath: string): Executable {
  if (program.includes("/")) return check(program, program);
  for (const folder of searchPath.split(delimiter)) {
    const found = check(join(folder, program), program);
    if (!("problem" in found)) return found;
  }
  return { problem: cannotExecute(program, "ENOENT") };
}

function check(path: string, program: string): Executable {
  try {
    const stats = statSync(path);
    if (stats.isDirectory()) return { problem: cannotExecute(program, "EACCES") };
    accessSync(path, constants.X_OK);
    return isRunnable(path) ? { path, stats } : { problem: cannotExecute(program, "ENOEXEC") };
  } catch (thrown) {
    return { problem: cannotExecute(program, errorCode(thrown) ?? "EIO") };
  }
}

/** execvp hands files of an unknown format to the shell; an image for another machine must not end there as a script. */
function isRunnable(path: string): boolean {
  const head = readHead(path);
  if (head.subarray(0, 2).toString("latin1") === "#!") return true;
  if (process.platform !== "linux") return head.length > 0;
  const own = readHead(process.execPath);
  const isElf = head.length === own.length && head.subarray(0, 4).equals(own.subarray(0, 4));
  return isElf && head.readUInt16LE(ELF_MACHINE_OFFSET) === own.readUInt16LE(ELF_MACHINE_OFFSET);
}

const ELF_MACHINE_OFFSET = 18;

function readHead(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(20);
    return head.subarray(0, readSync(file, head, 0, head.length, 0));
  } finally {
    closeSync(file);
  }
}
