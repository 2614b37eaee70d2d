import type { ConfigFiles } from "../../../src/settings/config-files.ts";

/** Files that exist only in a test: text, or the error that reading gives. */
export function memoryFiles(contents: Readonly<Record<string, string | Error>>): ConfigFiles {
  return {
    exists: (path) => Object.hasOwn(contents, path),
    read: async (path) => {
      const content = contents[path];
      if (content === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
      if (content instanceof Error) throw content;
      return content;
    },
  };
}
