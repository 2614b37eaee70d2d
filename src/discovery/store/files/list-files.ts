import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../../base/coded-error.ts";

export interface FoundFile {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
  /** Differs when the file was replaced or written; only as fine as the file system's clock. */
  readonly signature: string;
}

export interface FoundDirectory {
  readonly path: string;
  /** Another number under the same path is another directory. */
  readonly id: string;
}

export interface Listing {
  readonly files: readonly FoundFile[];
  readonly directories: readonly FoundDirectory[];
  readonly problems: readonly { readonly path: string; readonly message: string }[];
}

/**
 * Every .yaml and .yml file below a directory, sorted by path; links are followed. Hidden entries are passed over: editors keep their
 * unfinished files there, and a Kubernetes volume its older versions (`..data` and its target). `enter` is called for a directory before
 * it is read, so that a watch set up there misses nothing. Rejects when the directory itself cannot be read.
 */
export async function listFiles(root: string, enter: (directory: FoundDirectory) => void): Promise<Listing> {
  const files: FoundFile[] = [];
  const directories: FoundDirectory[] = [];
  const problems: { path: string; message: string }[] = [];
  const seen = new Set<string>();
  const walk = async (path: string): Promise<void> => {
    const info = await stat(path);
    const id = `${info.dev}:${info.ino}`;
    // A link to a directory above would never end.
    if (seen.has(id)) return;
    seen.add(id);
    const directory = { path, id };
    enter(directory);
    directories.push(directory);
    for (const name of (await readdir(path)).sort()) {
      if (!name.startsWith(".")) await visit(join(path, name));
    }
  };
  const visit = async (path: string): Promise<void> => {
    try {
      const info = await stat(path);
      if (info.isDirectory()) await walk(path);
      else if (info.isFile() && /\.ya?ml$/.test(path)) {
        const signature = [info.dev, info.ino, info.size, info.mtimeMs, info.ctimeMs].join(":");
        files.push({ path, mtimeMs: info.mtimeMs, size: info.size, signature });
      }
    } catch (thrown) {
      // Gone between listing and looking: the next round knows more.
      if (errorCode(thrown) !== "ENOENT") problems.push({ path, message: errorMessage(thrown) });
    }
  };
  await walk(root);
  return { files, directories, problems };
}
