import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Architecture, architectureFacts } from "./architecture.ts";
import { readElfMachine, readElfNeeds } from "./elf.ts";
import type { TarEntry } from "./tar.ts";

/** Installed files on their way into the image, with the links that lead to them and the libraries they load. */
export interface MachineFiles {
  /** The file, every link on the way to it, its loader and its libraries; it is known by its real path from then on. */
  add(path: string): void;
  /** What a program needs that goes elsewhere itself. */
  addNeedsOf(path: string, content: Buffer): void;
  /** Of all files added, and the libraries they brought. */
  readonly entries: ReadonlyMap<string, TarEntry>;
}

/** Paths are those that the image will have; the files are below `root`. */
export function createMachineFiles(architecture: Architecture, root: string): MachineFiles {
  const { libraryFolders, machine } = architectureFacts(architecture);
  const entries = new Map<string, TarEntry>();
  const add = (path: string) => {
    const merged = join(mergedFolder(root, dirname(path)), path.slice(path.lastIndexOf("/") + 1));
    if (entries.has(merged.slice(1))) return;
    const stat = lstatSync(root + merged);
    const entryPath = merged.slice(1);
    if (stat.isSymbolicLink()) {
      const target = readlinkSync(root + merged);
      entries.set(entryPath, { path: entryPath, type: "symlink", mode: 0o777, target });
      add(resolve(dirname(merged), target));
      return;
    }
    const content = readFileSync(root + merged);
    const mode = stat.mode & 0o111 ? 0o755 : 0o644;
    entries.set(entryPath, { path: entryPath, type: "file", mode, content });
    addNeedsOf(merged, content);
  };
  const addNeedsOf = (path: string, content: Buffer) => {
    const actual = readElfMachine(content);
    if (actual !== undefined && actual !== machine)
      throw new Error(`${path} is for ELF machine ${actual}, an image for ${architecture} needs ${machine}`);
    const needs = readElfNeeds(content);
    if (needs?.interpreter !== undefined) add(needs.interpreter);
    for (const name of needs?.libraries ?? []) add(findLibrary(name, path));
  };
  const findLibrary = (name: string, by: string) => {
    const found = libraryFolders.map((folder) => join(folder, name)).find((path) => existsSync(root + path));
    if (found === undefined) throw new Error(`${by} needs ${name}, which is not in ${libraryFolders.join(", ")}`);
    return found;
  };
  return { add, addNeedsOf, entries };
}

/** /bin, /lib, /lib64 and /sbin are links to folders of /usr in the image; files are under their real names. */
function mergedFolder(root: string, folder: string): string {
  const real = realpathSync(root + folder).slice(root.length);
  return /^\/(bin|sbin|lib|lib64)(\/|$)/.test(real) ? `/usr${real}` : real;
}
