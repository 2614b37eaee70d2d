import { readFile } from "node:fs/promises";
import { errorCode } from "../../base/coded-error.ts";
import { Secret } from "../../base/secret.ts";
import { WasmError } from "../wasm-error.ts";

/** Undefined when there is none, which is the usual case in a sidecar. */
export async function readDockerConfig(path: string | undefined): Promise<Secret | undefined> {
  if (path === undefined) return undefined;
  try {
    return new Secret(await readFile(path, "utf8"));
  } catch (cause) {
    const code = errorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return undefined;
    throw new WasmError("bad-secret", `cannot read ${path}: ${code}`, { cause });
  }
}
