import { makeDirectory } from "../../files/make-directory.ts";
import {
  linkNames,
  OUTPUT_NAMES,
  type OutputFiles,
  type OutputModes,
  plainNames,
  readNames,
  readShown,
  removeOldVersions,
  shownVersion,
  showVersion,
  writeVersion,
} from "./output-version.ts";

/** Readers of another user need more than the owner's permissions. */
export function outputModes(readableByAll: boolean): OutputModes {
  return readableByAll ? { file: 0o644, directory: 0o755 } : { file: 0o600, directory: 0o700 };
}

/**
 * Makes the directory show these files, all at once; names that are not given keep what they show. On failure what was shown before
 * stays as it was. Resolves to false when the content was already there.
 */
export async function writeOutput(directory: string, files: OutputFiles, modes: OutputModes): Promise<boolean> {
  await makeDirectory(directory, modes.directory);
  await adoptPlainFiles(directory, modes);
  const shown = await readShown(directory);
  const wanted = new Map([...shown, ...files]);
  const previous = await shownVersion(directory);
  const isNew = !isSame(wanted, shown);
  if (isNew) await showVersion(directory, await writeVersion(directory, wanted, modes));
  // Also for known content: an earlier try may have ended between the swap and the links.
  await linkNames(directory, wanted.keys());
  if (isNew) await removeOldVersions(directory, previous);
  return isNew;
}

/** Turns plain files into links without changing what they say, so that the following swap changes all of them in one step. */
async function adoptPlainFiles(directory: string, modes: OutputModes): Promise<void> {
  const plain = await plainNames(directory);
  if (plain.length === 0) return;
  const current = await readNames(directory, OUTPUT_NAMES);
  await showVersion(directory, await writeVersion(directory, current, modes));
  // A file that we may not read stays until there is something to put in its place.
  const readable = plain.filter((name) => current.has(name));
  await linkNames(directory, readable);
}

function isSame(wanted: OutputFiles, shown: OutputFiles): boolean {
  return wanted.size === shown.size && [...wanted].every(([name, content]) => shown.get(name)?.equals(content));
}
