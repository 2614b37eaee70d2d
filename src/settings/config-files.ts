import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { errorCode, errorMessage } from "../base/coded-error.ts";

/** The files the configuration is read from; relative paths are relative to the working directory. */
export interface ConfigFiles {
  /** Rejects with Node's system errors. */
  read(path: string): Promise<string>;
  exists(path: string): boolean;
}

export const diskFiles: ConfigFiles = { read: (path) => readFile(path, "utf8"), exists: existsSync };

/** Undefined when there is no such file; any other failure is thrown. */
export async function readIfPresent(files: ConfigFiles, path: string): Promise<string | undefined> {
  try {
    return await files.read(path);
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EISDIR: "is a directory",
  ENOTDIR: "not a directory",
  ELOOP: "too many levels of symbolic links",
};

/** A failed read in the words operators know from other programs of the mesh: `open PATH: permission denied`. */
export function fileErrorText(path: string, thrown: unknown): string {
  const code = errorCode(thrown) ?? "";
  const reason = REASONS[code];
  if (reason === undefined) return errorMessage(thrown);
  return `${code === "EISDIR" ? "read" : "open"} ${path}: ${reason}`;
}
