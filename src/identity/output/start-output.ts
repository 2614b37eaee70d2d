import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
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

export interface OutputOptions {
  readonly directory: string;
  /** Mode 0644 instead of 0600, for readers of another user in the same pod. */
  readonly readableByAll: boolean;
  readonly log: Logger;
  /** What the directory is to hold; empty leaves it alone. */
  collect(): Promise<OutputFiles>;
  /** For tests of full disks where no small file system can be made. */
  readonly write?: typeof writeOutput;
}

export interface Output {
  /** The content may have changed; returns at once. A failed write is tried again until it works. */
  refresh(): void;
  /** Resolves when the newest content is written or its first try has failed. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const RETRY: BackoffOptions = { initialMs: 500, maxMs: 60_000, factor: 1.5, jitter: 0.5 };

/** One writer at a time, always of the newest content: a slow disk can neither reorder nor pile up versions. */
export function startOutput(options: OutputOptions): Output {
  const stopped = new AbortController();
  const settling: (() => void)[] = [];
  let dirty = false;
  let news = new AbortController();
  let loop: Promise<void> | undefined;

  async function run(): Promise<void> {
    for (let failures = 0; dirty && !stopped.signal.aborted; ) {
      dirty = false;
      news = new AbortController();
      failures = (await tryOnce(options)) ? 0 : failures + 1;
      if (!dirty) for (const resolve of settling.splice(0)) resolve();
      if (failures === 0) continue;
      await wait(backoffDelayMs(RETRY, failures), AbortSignal.any([stopped.signal, news.signal]));
      dirty = true;
    }
    // Here and not when the promise settles: what comes in between would find a loop that no longer looks.
    loop = undefined;
  }

  return {
    refresh: () => {
      if (stopped.signal.aborted) return;
      dirty = true;
      news.abort();
      loop ??= run();
    },
    settled: () => (loop === undefined ? Promise.resolve() : new Promise((resolve) => settling.push(resolve))),
    stop: async () => {
      stopped.abort();
      await loop;
      for (const resolve of settling.splice(0)) resolve();
      await removeOldVersions(options.directory, undefined).catch(() => undefined);
    },
  };
}

async function tryOnce(options: OutputOptions): Promise<boolean> {
  const { directory, log, write = writeOutput } = options;
  try {
    const files = await options.collect();
    if (files.size > 0) await write(directory, files, outputModes(options.readableByAll));
    return true;
  } catch (failure) {
    log.error(`error when output the resource: failed to write to ${directory}: ${errorMessage(failure)}`);
    return false;
  }
}

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
