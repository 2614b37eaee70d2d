import { readFileSync, readlinkSync } from "node:fs";
import type { Logger } from "../base/logger.ts";
import { findExecutable } from "./executable.ts";
import { startWatchdog } from "./watchdog.ts";

/** Sees to it that Envoy does not outlive the agent, however the agent ends. */
export interface ParentDeathGuard {
  readonly method: "pdeathsig" | "watchdog";
  /** The command to spawn instead of `file args`; it becomes Envoy under the same pid. */
  wrap(file: string, args: readonly string[]): { readonly file: string; readonly args: readonly string[] };
  watch(pid: number): void;
  unwatch(pid: number): void;
  close(): Promise<void>;
}

/**
 * The kernel's parent-death signal, set by setpriv before it executes Envoy. It is tied to the thread that spawned the child, so
 * it is used on the main thread only, which lives as long as the process. Where setpriv is missing (or is BusyBox's, which has
 * no such option) a small shell process watches a pipe that closes with the agent; it also runs where a killed agent would leave
 * files behind.
 */
export async function startParentDeathGuard(log: Logger, options: GuardOptions): Promise<ParentDeathGuard> {
  const { setpriv = "setpriv", searchPath, leftovers = [] } = options;
  const program = isMainThread() ? findParentDeathSignal(setpriv, searchPath) : undefined;
  const hasSignal = program !== undefined;
  if (!hasSignal) log.debug("setpriv has no --pdeathsig here; a shell process ends Envoy if the agent is killed");
  const watchdog = hasSignal && leftovers.length === 0 ? undefined : startWatchdog(leftovers);
  return {
    method: hasSignal ? "pdeathsig" : "watchdog",
    wrap: (file, args) =>
      hasSignal ? { file: program, args: ["--pdeathsig", "KILL", "--", file, ...args] } : { file, args },
    watch: (pid) => watchdog?.watch(pid),
    unwatch: (pid) => watchdog?.unwatch(pid),
    close: async () => watchdog?.stop(),
  };
}

export interface GuardOptions {
  readonly setpriv?: string | undefined;
  readonly searchPath: string;
  /** To be removed when the agent is killed: the shared memory of hot restart mode. */
  readonly leftovers?: readonly string[];
}

/** By the kernel: node:worker_threads would take milliseconds to load, for which Envoy would wait. */
function isMainThread(): boolean {
  try {
    const [process, , thread] = readlinkSync("/proc/thread-self").split("/");
    return thread === process;
  } catch {
    return false;
  }
}

/** A program of 80 kB: reading whether it knows the option is quicker than running it, for which every start of Envoy would wait. */
function findParentDeathSignal(setpriv: string, searchPath: string): string | undefined {
  if (process.platform !== "linux") return undefined;
  const found = findExecutable(setpriv, searchPath);
  return !("problem" in found) && readFileSync(found.path).includes("pdeathsig") ? found.path : undefined;
}
