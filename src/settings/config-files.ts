import { existsSync } from "node:fs";
import { errorCode } from "../base/coded-error.ts";
import { readTextLimited } from "../files/read-file.ts";

/** The files the configuration is read from; relative paths are relative to the working directory. */
export interface ConfigFiles {
  /** Rejects with Node's system errors, or a `FileError`. */
  read(path: string): Promise<string>;
  exists(path: string): boolean;
}

export const diskFiles: ConfigFiles = { read: (path) => readTextLimited(path), exists: existsSync };

/** Undefined when there is no such file; any other failure is thrown. */
export async function readIfPresent(files: ConfigFiles, path: string): Promise<string | undefined> {
  try {
    return await files.read(path);
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}
