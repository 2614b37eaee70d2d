import { makeDirectory } from "../../base/make-directory.ts";
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
 * Makes the directory show these files, all at once. On failure what was shown before stays as it was. Resolves to false when the
 * content was already there.
 */
export async function writeOutput(directory: string, files: OutputFiles, modes: OutputModes): Promise<boolean> {
  await makeDirectory(directory, modes.directory);
  await adoptPlainFiles(directory, modes);
  if (isSame(files, await readShown(directory))) return false;
  const previous = await shownVersion(directory);
  const version = await writeVersion(directory, files, modes);
  await showVersion(directory, version);
  await linkNames(directory, files.keys());
  await removeOldVersions(directory, previous);
  return true;
}

/** Turns plain files into links without changing what they say, so that the following swap changes all of them in one step. */
async function adoptPlainFiles(directory: string, modes: OutputModes): Promise<void> {
  const plain = await plainNames(directory);
  if (plain.length === 0) return;
  const current = new Map([...(await readNames(directory, OUTPUT_NAMES))]);
  await showVersion(directory, await writeVersion(directory, current, modes));
  await linkNames(directory, plain);
}

function isSame(wanted: OutputFiles, shown: OutputFiles): boolean {
  return wanted.size === shown.size && [...wanted].every(([name, content]) => shown.get(name)?.equals(content));
}
