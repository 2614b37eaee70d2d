import { isMainThread } from "node:worker_threads";
import type { Logger } from "../base/logger.ts";
import { runProgram } from "./run-program.ts";
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
 * no such option) a small shell process watches a pipe that closes with the agent.
 */
export async function startParentDeathGuard(log: Logger, setpriv = "setpriv"): Promise<ParentDeathGuard> {
  if (isMainThread && (await hasParentDeathSignal(setpriv))) {
    return {
      method: "pdeathsig",
      wrap: (file, args) => ({ file: setpriv, args: ["--pdeathsig", "KILL", "--", file, ...args] }),
      watch: () => undefined,
      unwatch: () => undefined,
      close: async () => undefined,
    };
  }
  log.debug("setpriv has no --pdeathsig here; a shell process ends Envoy if the agent is killed");
  const watchdog = startWatchdog();
  return {
    method: "watchdog",
    wrap: (file, args) => ({ file, args }),
    watch: watchdog.watch,
    unwatch: watchdog.unwatch,
    close: watchdog.stop,
  };
}

async function hasParentDeathSignal(setpriv: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const result = await runProgram(setpriv, ["--pdeathsig", "KILL", setpriv, "--version"], { timeoutMs: 2_000 });
  return result.code === 0;
}
