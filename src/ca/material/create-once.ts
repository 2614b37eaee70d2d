import { randomUUID } from "node:crypto";
import { chmod, link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import { CaMaterialError } from "../ca-server-error.ts";

/** The directory that keys live in: nobody else's. */
export async function makePrivateDirectory(directory: string): Promise<void> {
  try {
    await makeDirectory(directory, 0o700);
  } catch (cause) {
    const text = `the CA's directory ${directory} cannot be made: ${errorMessage(cause)}`;
    throw new CaMaterialError("unwritable", text, { cause });
  }
}

/** Takes back rights of others on a key of ours, however they came about (a copy, a restored backup). */
export async function keepPrivate(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, 0o600);
}

/**
 * Creates the file with this content unless it exists. Of any number of processes that do so at once, on one machine or over a shared
 * volume, one wins and nobody sees a half-written file: a hard link appears complete or fails. True for the winner. No lock file is
 * needed, hence none can be left behind by a crash.
 */
export async function createOnce(path: string, content: string, mode: number): Promise<boolean> {
  const draft = await writeDraft(path, content, mode);
  try {
    await link(draft, path);
    await syncDirectory(dirname(path));
    return true;
  } catch (failure) {
    if (errorCode(failure) === "EEXIST") return false;
    throw failure;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Replaces the file; readers see the old or the new content, never a part. */
export async function replaceFile(path: string, content: string, mode: number): Promise<void> {
  const draft = await writeDraft(path, content, mode);
  try {
    await rename(draft, path);
  } catch (failure) {
    await rm(draft, { force: true });
    throw failure;
  }
  await syncDirectory(dirname(path));
}

async function writeDraft(path: string, content: string, mode: number): Promise<string> {
  const draft = `${path}.tmp.${randomUUID()}`;
  try {
    const file = await open(draft, "wx", mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    return draft;
  } catch (cause) {
    await rm(draft, { force: true });
    // A full disk is reported by the kernel without a name.
    throw new CaMaterialError("unwritable", `cannot write ${path}: ${errorMessage(cause)}`, { cause });
  }
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
