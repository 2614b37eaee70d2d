import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../../base/coded-error.ts";
import { mapBounded } from "./map-bounded.ts";

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

/** Entries of a directory that are looked at together. */
const MAX_LOOKS = 32;

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
    const names = (await readdir(path)).filter((name) => !name.startsWith(".")).sort();
    const entries = await mapBounded(names, (name) => look(join(path, name)), { maxTasks: MAX_LOOKS });
    // One directory after the other: which of two links to it is followed must not depend on which is found faster.
    for (const entry of entries) {
      if ("thrown" in entry) note(entry.path, entry.thrown);
      else if (entry.info.isDirectory()) await walk(entry.path).catch((thrown: unknown) => note(entry.path, thrown));
      else if (entry.info.isFile() && /\.ya?ml$/.test(entry.path)) files.push(toFile(entry));
    }
  };
  const note = (path: string, thrown: unknown) => {
    // Gone, or no directory any more, between listing and looking: the next round knows more.
    const isGone = ["ENOENT", "ENOTDIR"].includes(errorCode(thrown) ?? "");
    if (!isGone) problems.push({ path, message: errorMessage(thrown) });
  };
  await walk(root);
  return { files, directories, problems };
}

interface Seen {
  readonly path: string;
  readonly info: Stats;
}

async function look(path: string): Promise<Seen | { readonly path: string; readonly thrown: unknown }> {
  try {
    return { path, info: await stat(path) };
  } catch (thrown) {
    return { path, thrown };
  }
}

function toFile({ path, info: { dev, ino, size, mtimeMs, ctimeMs } }: Seen): FoundFile {
  return { path, mtimeMs, size, signature: [dev, ino, size, mtimeMs, ctimeMs].join(":") };
}
