import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { SecretError } from "../secret-error.ts";

/** Far above any certificate bundle; a name on the SDS socket must not make the agent read a disk image into memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A regular file's bytes. Rejects with a `SecretError` in the words operators know from Go: "open P: no such file or directory". */
export async function readCertificateFile(path: string, maxBytes = MAX_BYTES): Promise<Buffer> {
  try {
    // Non-blocking: opening a named pipe without a writer would hold a thread of the pool for ever.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (found.isDirectory()) throw new SecretError("bad-file", `read ${path}: is a directory`);
      if (!found.isFile()) throw new SecretError("bad-file", `read ${path}: not a regular file`);
      if (found.size > maxBytes) throw new SecretError("bad-file", `read ${path}: larger than ${maxBytes} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (thrown) {
    throw thrown instanceof SecretError
      ? thrown
      : new SecretError("bad-file", describe(path, thrown), { cause: thrown });
  }
}

export function isMissing(thrown: unknown): boolean {
  return thrown instanceof SecretError && ["ENOENT", "ENOTDIR"].includes(errorCode(thrown.cause) ?? "");
}

/** The system's name for why a file could not be read, or a sentence where it has none. */
export function readProblem(thrown: unknown): string {
  return (thrown instanceof SecretError ? errorCode(thrown.cause) : errorCode(thrown)) ?? errorMessage(thrown);
}

const TEXTS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EACCES: "permission denied",
  ELOOP: "too many levels of symbolic links",
  EMFILE: "too many open files",
};

function describe(path: string, thrown: unknown): string {
  return `open ${path}: ${TEXTS[errorCode(thrown) ?? ""] ?? errorMessage(thrown)}`;
}
