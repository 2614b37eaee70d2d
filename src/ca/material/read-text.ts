import { readFile } from "node:fs/promises";
import { errorCode } from "../../base/coded-error.ts";
import { CaMaterialError } from "../ca-server-error.ts";

/** The file's text, undefined when there is no such file; other failures name the file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const code = errorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CaMaterialError("unreadable", `cannot read ${path}: ${code}`, { cause });
  }
}
