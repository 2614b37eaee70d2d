import { resolve } from "node:path";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { readTextLimitedSync } from "../files/read-file-sync.ts";
import type { FileSurroundings } from "./core/parse-mesh-file.ts";

/** Variables of the caller, and files beside a mesh file. */
export function surroundings(directory: string, env: FileSurroundings["env"]): FileSurroundings {
  return {
    env,
    readText(path) {
      try {
        return readTextLimitedSync(resolve(directory, path));
      } catch (thrown) {
        throw new Error(`cannot be read: ${REASONS[errorCode(thrown) ?? ""] ?? errorMessage(thrown)}`);
      }
    },
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "this user may not",
};
