import {
  chmodSync,
  chownSync,
  closeSync,
  fchmodSync,
  fchownSync,
  openSync,
  renameSync,
  rmSync,
  writeFile,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { makeDirectory } from "./make-directory.ts";

/**
 * The one rule for files and directories the agent makes for the proxy. `private`: readable by the user the proxy runs as and by root
 * only (files 0600, directories 0700). `shared`: application containers must reach it too, such as the directory with the sockets and
 * the proxyless bootstrap (files 0644, directories 0755). With an owner, what is made is handed to that user; without, it stays the
 * agent's own, which then is the user the proxy runs as.
 */
export type ProxyAccess = "private" | "shared";

export interface ProxyOwner {
  readonly uid: number;
  readonly gid: number;
}

export interface ProxyFileOptions {
  readonly access: ProxyAccess;
  readonly owner?: ProxyOwner | undefined;
  /** Only where a format's readers demand another mode than the rule gives. */
  readonly mode?: number;
}

const FILE_MODES: Readonly<Record<ProxyAccess, number>> = { private: 0o600, shared: 0o644 };
const DIRECTORY_MODES: Readonly<Record<ProxyAccess, number>> = { private: 0o700, shared: 0o755 };

/** Up to here writing takes no longer than handing it to another thread would. */
const AT_ONCE_BYTES = 256 * 1024;

/**
 * Readers see the old content or the whole new one, never a part: a temporary file beside it, then a rename. Small files are written at
 * once; modules and configurations of many megabytes on the side, because disks may be slow and nothing else may wait for them.
 */
export async function writeProxyFile(
  path: string,
  data: string | Uint8Array,
  options: ProxyFileOptions,
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${Math.random().toString(36).slice(2)}.tmp`);
  const mode = options.mode ?? FILE_MODES[options.access];
  // Exclusive: nobody can have put a file or a link there.
  const file = openSync(temporary, "wx", mode);
  try {
    try {
      if (data.length <= AT_ONCE_BYTES) writeFileSync(file, data);
      else await promisify(writeFile)(file, data);
      // The umask may have taken bits away.
      fchmodSync(file, mode);
      if (options.owner !== undefined) fchownSync(file, options.owner.uid, options.owner.gid);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (failure) {
    rmSync(temporary, { force: true });
    throw failure;
  }
}

/** Makes the directory and its missing parents by the same rule. One that exists already stays as it is: it is its maker's. */
export async function makeProxyDirectory(path: string, options: Omit<ProxyFileOptions, "mode">): Promise<void> {
  const first = await makeDirectory(path);
  if (first === undefined) return;
  const target = resolve(path);
  for (const made of chain(first, target)) {
    chmodSync(made, DIRECTORY_MODES[options.access]);
    if (options.owner !== undefined) chownSync(made, options.owner.uid, options.owner.gid);
  }
}

/** The directories from the first one that was made down to the target. */
function chain(first: string, target: string): readonly string[] {
  const made = [first];
  for (const step of relative(first, target).split(sep)) {
    if (step !== "") made.push(join(made.at(-1) ?? first, step));
  }
  return made;
}
