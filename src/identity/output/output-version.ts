import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../base/coded-error.ts";
import { readCertificateFile } from "../files/read-file.ts";

export const KEY_FILE = "key.pem";
export const CHAIN_FILE = "cert-chain.pem";
export const ROOT_FILE = "root-cert.pem";
export type OutputName = typeof KEY_FILE | typeof CHAIN_FILE | typeof ROOT_FILE;
export const OUTPUT_NAMES: readonly OutputName[] = [KEY_FILE, CHAIN_FILE, ROOT_FILE];

/** File contents by name; absent names are not written. */
export type OutputFiles = ReadonlyMap<OutputName, Buffer>;

/** The link through which every visible file is read; the name that Kubernetes volumes use for the same purpose. */
const DATA_LINK = "..data";
const VERSION_PREFIX = "..certs-";
/** A link on its way to its name; one that is still there was left by a process that was killed. */
const DRAFT_LINK = /^(\.\.data|key\.pem|cert-chain\.pem|root-cert\.pem)\.tmp\.[0-9a-f]{12}$/;

export interface OutputModes {
  readonly file: number;
  readonly directory: number;
}

/** A complete directory of its own, not yet visible. What fails half way is removed again. */
export async function writeVersion(directory: string, files: OutputFiles, modes: OutputModes): Promise<string> {
  const version = `${VERSION_PREFIX}${randomBytes(6).toString("hex")}`;
  const path = join(directory, version);
  await mkdir(path, { mode: modes.directory });
  try {
    for (const [name, content] of files) await writeDurably(join(path, name), content, modes.file);
    return version;
  } catch (failure) {
    await rm(path, { recursive: true, force: true });
    throw failure;
  }
}

/** One rename: before it every file is the old one, after it every file is the new one. A version that cannot be shown is removed. */
export async function showVersion(directory: string, version: string): Promise<void> {
  try {
    await replaceByLink(directory, DATA_LINK, version);
  } catch (failure) {
    await rm(join(directory, version), { recursive: true, force: true });
    throw failure;
  }
}

/** The visible names, each a link into the shown version. A regular file of that name is replaced. */
export async function linkNames(directory: string, names: Iterable<OutputName>): Promise<void> {
  for (const name of names) {
    const target = join(DATA_LINK, name);
    if ((await readLink(join(directory, name))) !== target) await replaceByLink(directory, name, target);
  }
}

/** Names that exist as plain files, written by somebody else or by an earlier release. */
export async function plainNames(directory: string): Promise<OutputName[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return OUTPUT_NAMES.filter((name) => entries.some((entry) => entry.name === name && entry.isFile()));
}

export async function readNames(directory: string, names: readonly OutputName[]): Promise<Map<OutputName, Buffer>> {
  const files = new Map<OutputName, Buffer>();
  for (const name of names) {
    const content = await readCertificateFile(join(directory, name)).catch(() => undefined);
    if (content !== undefined) files.set(name, content);
  }
  return files;
}

/** The shown version, read through its own name, so that a swap in between cannot mix two versions. */
export async function readShown(directory: string): Promise<Map<OutputName, Buffer>> {
  const version = await readLink(join(directory, DATA_LINK));
  return version === undefined ? new Map() : readNames(join(directory, version), OUTPUT_NAMES);
}

/** Leaves the shown version and `keep`, the one before, which a slow reader may still have open by name. Drafts of a killed run go too. */
export async function removeOldVersions(directory: string, keep: string | undefined): Promise<void> {
  const shown = await readLink(join(directory, DATA_LINK));
  for (const entry of await readdir(directory)) {
    const isOld = entry.startsWith(VERSION_PREFIX) && entry !== shown && entry !== keep;
    if (isOld || DRAFT_LINK.test(entry)) await rm(join(directory, entry), { recursive: true, force: true });
  }
}

export async function shownVersion(directory: string): Promise<string | undefined> {
  return readLink(join(directory, DATA_LINK));
}

async function writeDurably(path: string, content: Buffer, mode: number): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode); // the process's umask may have taken bits away
    await file.sync();
  } finally {
    await file.close();
  }
}

async function replaceByLink(directory: string, name: string, target: string): Promise<void> {
  const temporary = join(directory, `${name}.tmp.${randomBytes(6).toString("hex")}`);
  await symlink(target, temporary);
  try {
    await rename(temporary, join(directory, name));
  } catch (failure) {
    await rm(temporary, { force: true });
    throw failure;
  }
}

async function readLink(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (thrown) {
    if (["ENOENT", "EINVAL", "ENOTDIR"].includes(errorCode(thrown) ?? "")) return undefined;
    throw thrown;
  }
}
