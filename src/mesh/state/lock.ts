import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "../../process/process-identity.ts";
import { MeshError } from "../mesh-error.ts";

/** Holds a state folder; released by `release`, or by the end of the process, after which the next one takes it over. */
export interface FolderLock {
  release(): void;
}

/**
 * The file comes into being with its content (a link to a finished file), so a half-written one is never read. A lock of a process
 * that is gone is taken over; who does so looks again afterwards, because two may have found it at the same time.
 */
export function lockFolder(path: string, pid: number = process.pid): FolderLock {
  const own = identifyProcess(pid);
  if (own === undefined) throw new MeshError("state", `there is no process ${pid}`);
  const text = JSON.stringify(own);
  const temporary = `${path}.${pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    writeFileSync(temporary, text, { mode: 0o600 });
  } catch (thrown) {
    throw new MeshError("state", `cannot use the state folder: ${errorMessage(thrown)}`, { cause: thrown });
  }
  try {
    for (let tries = 0; tries < 20; tries += 1) {
      try {
        linkSync(temporary, path);
      } catch (thrown) {
        if (errorCode(thrown) !== "EEXIST") throw thrown;
        const holder = lockHolder(path);
        if (holder !== undefined) throw runsAlready(holder);
        removeStale(path, `${temporary}.stale`);
        continue;
      }
      if (readFileSync(path, "utf8") === text) {
        return { release: () => void (readText(path) === text && rmSync(path, { force: true })) };
      }
    }
    throw new MeshError("already-running", `${path} is taken again and again by other processes`);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Moved away first and looked at again: between our look and our step somebody else may have taken it over, and what is moved away then is
 * that one's lock, which goes back.
 */
export function removeStale(path: string, aside: string): void {
  try {
    renameSync(path, aside);
    if (lockHolder(aside) !== undefined) linkSync(aside, path);
  } catch {
    // Somebody else was quicker; the next try sees who.
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Throws when a living process holds the lock. */
export function refuseHeld(path: string): void {
  const holder = lockHolder(path);
  if (holder !== undefined) throw runsAlready(holder);
}

function runsAlready({ pid }: ProcessIdentity): MeshError {
  return new MeshError("already-running", `this mesh runs already, as process ${pid}; pilot-agent mesh down ends it`);
}

/** The living process that holds the lock. */
export function lockHolder(path: string): ProcessIdentity | undefined {
  try {
    const holder = JSON.parse(readText(path) ?? "") as ProcessIdentity;
    return isAlive(holder) ? holder : undefined;
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
