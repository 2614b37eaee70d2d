import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

/** What agents execute. */
export interface AgentProgram {
  /** Node and the built program. */
  readonly words: readonly string[];
  readonly envoy: string;
}

/**
 * The same program where any user can read it: a project in root's home directory is copied into the state folder, because agents run
 * as a user of their own. What can be read anyway is used where it is.
 */
export function sharedProgram(program: AgentProgram, folder: string): AgentProgram {
  const [node = "", main = "", ...rest] = program.words;
  return {
    words: [sharedFile(node, folder), sharedBundle(main, folder), ...rest],
    envoy: sharedFile(program.envoy, folder),
  };
}

function sharedFile(path: string, folder: string): string {
  if (isPublic(path)) return path;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const copy = join(folder, basename(path));
  cpSync(path, copy, { dereference: true });
  chmodSync(copy, 0o755);
  return copy;
}

/** The bundle's chunks lie beside its main file. */
function sharedBundle(main: string, folder: string): string {
  if (isPublic(main) && isPublic(join(dirname(main), "chunks"))) return main;
  const copy = join(folder, "dist");
  mkdirSync(copy, { recursive: true, mode: 0o755 });
  cpSync(dirname(main), copy, { recursive: true, filter: (path) => !/\.map$|\/types(\/|$)/.test(path) });
  // The project may have been built under a umask that shuts others out.
  for (const name of ["", ...readdirSync(copy, { recursive: true, encoding: "utf8" })])
    chmodSync(join(copy, name), 0o755);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}\n', { mode: 0o644 });
  return join(copy, basename(main));
}

/** Whether everybody may read it and pass through every folder on the way. */
export function isPublic(path: string): boolean {
  try {
    const parts = path.split(sep).slice(1);
    const folders = parts.map((_, index) => sep + parts.slice(0, index).join(sep));
    return folders.every((folder) => (statSync(folder).mode & 0o001) !== 0) && (statSync(path).mode & 0o004) !== 0;
  } catch {
    return false;
  }
}
