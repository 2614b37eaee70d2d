import { closeSync, fchmodSync, fchownSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../base/coded-error.ts";

export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

export interface ReplaceOptions {
  /** Exactly this one, independent of the umask. */
  readonly mode: number;
  readonly owner?: FileOwner | undefined;
  /** Content and name survive a power cut: both are synced to the disk before it resolves. */
  readonly durable?: boolean;
}

/** Up to here writing takes no longer than handing it to another thread would. */
const AT_ONCE_BYTES = 256 * 1024;

/**
 * Readers see the old content or the whole new one, never a part: a temporary file beside it, then a rename. Small files are written at
 * once; modules and configurations of many megabytes on the side, because disks may be slow and nothing else may wait for them.
 */
export async function replaceFile(path: string, data: string | Uint8Array, options: ReplaceOptions): Promise<void> {
  if (!options.durable && data.length <= AT_ONCE_BYTES) return replaceFileSync(path, data, options);
  const temporary = await writeTemporary(path, data, options);
  try {
    await rename(temporary, path);
  } catch (failure) {
    await rm(temporary, { force: true });
    throw failure;
  }
  if (options.durable) await syncDirectory(dirname(path));
}

export function replaceFileSync(
  path: string,
  data: string | Uint8Array,
  { mode, owner }: Omit<ReplaceOptions, "durable">,
): void {
  const temporary = temporaryPath(path);
  // Exclusive: no other process can have put a file or a link there.
  const file = openSync(temporary, "wx", mode);
  try {
    try {
      writeFileSync(file, data);
      // The umask may have taken bits away.
      fchmodSync(file, mode);
      if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (failure) {
    rmSync(temporary, { force: true });
    throw failure;
  }
}

/**
 * Creates the file with this content unless it exists. Of any number of processes that do so at once, on one machine or over a shared
 * volume, one wins and no reader sees a half-written file: a hard link appears complete or fails. True for the winner. No lock file is
 * needed, hence none can be left behind by a crash.
 */
export async function createFileOnce(path: string, data: string, options: ReplaceOptions): Promise<boolean> {
  const temporary = await writeTemporary(path, data, options);
  try {
    await link(temporary, path);
    if (options.durable) await syncDirectory(dirname(path));
    return true;
  } catch (failure) {
    if (errorCode(failure) === "EEXIST") return false;
    throw failure;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeTemporary(
  path: string,
  data: string | Uint8Array,
  { mode, owner, durable }: ReplaceOptions,
): Promise<string> {
  const temporary = temporaryPath(path);
  const file = await open(temporary, "wx", mode);
  try {
    await file.writeFile(data);
    await file.chmod(mode);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    if (durable) await file.sync();
  } catch (failure) {
    await rm(temporary, { force: true });
    throw failure;
  } finally {
    await file.close();
  }
  return temporary;
}

/** Hidden: whoever lists the directory, such as the control plane's file store, passes it over. */
function temporaryPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`);
}

/** A new name survives a power cut only once its directory was written too. Some network file systems cannot, and do not need to. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } catch (failure) {
    if (!["EINVAL", "ENOTSUP"].includes(errorCode(failure) ?? "")) throw failure;
  } finally {
    await directory.close();
  }
}
