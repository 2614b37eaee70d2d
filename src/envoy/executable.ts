import { constants, type Stats } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { errorCode } from "../base/coded-error.ts";
import { cannotExecute, type EnvoyExit } from "./core/exit-text.ts";

export type Executable = { readonly path: string; readonly stats: Stats } | { readonly problem: EnvoyExit };

/**
 * Looks before the leap: Envoy is started through another program (setpriv), whose own failure to execute it would only be an exit
 * code. A bare name is searched for in `searchPath`.
 */
export async function findExecutable(program: string, searchPath: string): Promise<Executable> {
  if (program.includes("/")) return check(program, program);
  for (const folder of searchPath.split(delimiter)) {
    const found = await check(join(folder, program), program);
    if (!("problem" in found)) return found;
  }
  return { problem: cannotExecute(program, "ENOENT") };
}

async function check(path: string, program: string): Promise<Executable> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) return { problem: cannotExecute(program, "EACCES") };
    await access(path, constants.X_OK);
    return (await isRunnable(path)) ? { path, stats } : { problem: cannotExecute(program, "ENOEXEC") };
  } catch (thrown) {
    return { problem: cannotExecute(program, errorCode(thrown) ?? "EIO") };
  }
}

/** execvp hands files of an unknown format to the shell; an image for another machine must not end there as a script. */
async function isRunnable(path: string): Promise<boolean> {
  const head = await readHead(path);
  if (head.subarray(0, 2).toString("latin1") === "#!") return true;
  if (process.platform !== "linux") return head.length > 0;
  const own = await readHead(process.execPath);
  const isElf = head.length === own.length && head.subarray(0, 4).equals(own.subarray(0, 4));
  return isElf && head.readUInt16LE(ELF_MACHINE_OFFSET) === own.readUInt16LE(ELF_MACHINE_OFFSET);
}

const ELF_MACHINE_OFFSET = 18;

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
