import { fchownSync, fstatSync } from "node:fs";
import { errorCode } from "../base/coded-error.ts";
import { type ChildProcess, spawnProgram } from "../process/spawn-program.ts";
import { cannotExecute, type EnvoyExit, exitOf } from "./core/exit-text.ts";
import type { ParentDeathGuard } from "./parent-death.ts";

export interface SpawnOptions {
  readonly binaryPath: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Drops to this user and group, without supplementary groups. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly guard: ParentDeathGuard;
  /** Descriptors for Envoy's stdout and stderr; the agent's own unless a caller has its own files. */
  readonly stdio?: { readonly stdout: number; readonly stderr: number };
}

export interface EnvoyProcess {
  readonly pid: number | undefined;
  readonly exit: Promise<EnvoyExit>;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * Starts one Envoy with the agent's own stdout and stderr. Never through a pipe of Node's: that is a socket, on which opening
 * /dev/stdout fails, and with it every access log there. No new process group or session either, so that a terminal or a
 * supervisor that signals the group reaches both.
 */
export function spawnEnvoy(options: SpawnOptions): EnvoyProcess {
  const { guard, user, env } = options;
  const stdout = options.stdio?.stdout ?? 1;
  const stderr = options.stdio?.stderr ?? 2;
  if (user !== undefined) for (const descriptor of [stdout, stderr]) handOver(descriptor, user.uid);
  const command = guard.wrap(options.binaryPath, options.args);
  let child: ChildProcess;
  try {
    child = spawnProgram(command.file, command.args, {
      stdio: ["ignore", stdout, stderr],
      env,
      // libuv clears the supplementary groups when it changes the user.
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    });
  } catch (thrown) {
    // Node throws some failures (too long a command line) instead of reporting them later.
    const exit = Promise.resolve(cannotExecute(options.binaryPath, errorCode(thrown) ?? "EIO"));
    return { pid: undefined, exit, signal: () => undefined };
  }
  if (child.pid !== undefined) guard.watch(child.pid);
  return {
    pid: child.pid,
    exit: whenExited(child, options).then((exit) => {
      if (child.pid !== undefined) guard.unwatch(child.pid);
      return exit;
    }),
    signal: (signal) => void child.kill(signal),
  };
}

function whenExited(child: ChildProcess, { binaryPath, guard }: SpawnOptions): Promise<EnvoyExit> {
  return new Promise((resolve) => {
    child.once("error", (thrown) => resolve(cannotExecute(binaryPath, errorCode(thrown) ?? "EIO")));
    child.once("exit", (code, signal) => {
      const failure = guard.method === "pdeathsig" && code !== null ? SETPRIV_FAILURES[code] : undefined;
      resolve(failure === undefined ? exitOf(code, signal) : cannotExecute(binaryPath, failure));
    });
  });
}

/** Exit codes by which setpriv says that it could not become Envoy; Envoy itself does not use them. */
const SETPRIV_FAILURES: Readonly<Record<number, string>> = { 126: "EACCES", 127: "ENOENT" };

/** /dev/stdout is opened again by name, which needs rights on the pipe or terminal itself. Files keep their owner. */
function handOver(descriptor: number, uid: number): void {
  try {
    const stats = fstatSync(descriptor);
    const isTerminal = stats.isCharacterDevice() && stats.mode % 0o1000 !== 0o666;
    if (stats.isFIFO() || isTerminal) fchownSync(descriptor, uid, stats.gid);
  } catch {
    // Without the right to change it Envoy still has the inherited descriptor; only logs opened by name are affected.
  }
}
