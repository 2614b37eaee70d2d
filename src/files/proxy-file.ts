import { chmodSync, chownSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { makeDirectory } from "./make-directory.ts";
import { type FileOwner, replaceFile } from "./replace-file.ts";

/**
 * The one rule for files and directories the agent makes for the proxy. `private`: readable by the user the proxy runs as and by root
 * only (files 0600, directories 0700). `shared`: application containers must reach it too, such as the directory with the sockets and
 * the proxyless bootstrap (files 0644, directories 0755). With an owner, what is made is handed to that user; without, it stays the
 * agent's own, which then is the user the proxy runs as.
 */
export type ProxyAccess = "private" | "shared";

export type ProxyOwner = FileOwner;

export interface ProxyFileOptions {
  readonly access: ProxyAccess;
  readonly owner?: ProxyOwner | undefined;
  /** Only where a format's readers demand another mode than the rule gives. */
  readonly mode?: number;
}

const FILE_MODES: Readonly<Record<ProxyAccess, number>> = { private: 0o600, shared: 0o644 };
const DIRECTORY_MODES: Readonly<Record<ProxyAccess, number>> = { private: 0o700, shared: 0o755 };

/** Replaces the file as a whole: readers see the old content or the new one. */
export function writeProxyFile(path: string, data: string | Uint8Array, options: ProxyFileOptions): Promise<void> {
  return replaceFile(path, data, { mode: options.mode ?? FILE_MODES[options.access], owner: options.owner });
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
