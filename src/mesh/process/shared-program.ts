import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

/** What the parts of a mesh execute. */
export interface AgentProgram {
  /** The launcher, which becomes Node with the built program: all that a pod's agent gets from it, an agent here gets too. */
  readonly launcher: string;
  readonly node: string;
  readonly envoy: string;
}

/**
 * The same program where any user can read it: a project in root's home directory is copied into the state folder, because agents run
 * as a user of their own. What can be read anyway is used where it is.
 */
export function sharedProgram(program: AgentProgram, folder: string): AgentProgram {
  return {
    launcher: sharedBundle(program.launcher, folder),
    node: sharedFile(program.node, folder),
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

/** The launcher finds the bundle in the folder beside its own. */
function sharedBundle(launcher: string, folder: string): string {
  const [bin, dist] = [dirname(launcher), join(dirname(dirname(launcher)), "dist")];
  if ([launcher, join(dist, "main.js"), join(dist, "chunks")].every(isPublic)) return launcher;
  const without = (path: string) => !/\.map$|\/types(\/|$)/.test(path);
  for (const [from, name] of [
    [bin, "bin"],
    [dist, "dist"],
  ] as const) {
    const copy = join(folder, name);
    mkdirSync(copy, { recursive: true, mode: 0o755 });
    cpSync(from, copy, { recursive: true, filter: without });
    // The project may have been built under a umask that shuts others out.
    for (const entry of ["", ...readdirSync(copy, { recursive: true, encoding: "utf8" })])
      chmodSync(join(copy, entry), 0o755);
  }
  writeFileSync(join(folder, "package.json"), '{"type":"module"}\n', { mode: 0o644 });
  return join(folder, "bin", basename(launcher));
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
