import { chmod, stat } from "node:fs/promises";
import { errorMessage } from "../../base/coded-error.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import { createFileOnce, replaceFile } from "../../files/replace-file.ts";
import { CaMaterialError } from "../ca-server-error.ts";

/** The directory that keys live in: for this user only. */
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

/** Creates the file unless it exists; of several processes one wins. True for the winner. */
export function createOnce(path: string, content: string, mode: number): Promise<boolean> {
  return writable(path, createFileOnce(path, content, { mode, durable: true }));
}

export function replaceMaterial(path: string, content: string, mode: number): Promise<void> {
  return writable(path, replaceFile(path, content, { mode, durable: true }));
}

async function writable<T>(path: string, written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (cause) {
    // A full disk is reported by the kernel without a name.
    throw new CaMaterialError("unwritable", `cannot write ${path}: ${errorMessage(cause)}`, { cause });
  }
}
