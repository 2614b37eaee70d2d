import type { ChildProcess } from "node:child_process";

/**
 * For children that run on while the caller does something else; programs that are run to their end go through run-program.ts. Takes an
 * array of arguments and no shell. Node throws some failures (too long a command line, a user id of more than 31 bits) and reports the
 * others as the child's `error`: callers have to expect both.
 */
export { type ChildProcess, spawn as spawnProgram } from "node:child_process";

/** To every process of the group that a `detached` child leads. */
export function signalGroup({ pid }: Pick<ChildProcess, "pid">, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty.
  }
}

/** Whether a process of the group is left, also one that has ended and whose parent has not collected it. */
export function isGroupAlive({ pid }: Pick<ChildProcess, "pid">): boolean {
  try {
    return pid !== undefined && process.kill(-pid, 0);
  } catch {
    return false;
  }
}
