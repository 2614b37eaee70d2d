import { closeSync, openSync, readFileSync } from "node:fs";
import { type ChildProcess, spawnProgram } from "../../../src/process/spawn-program.ts";
import { has } from "../needs.ts";
import { signalProcess } from "../process/signal-process.ts";

/** One program of a cluster. It dies with the process that started it, unless it is detached. */
export interface ServerProcess {
  readonly pid: number;
  readonly name: string;
  /** With the last lines of its log, once it has exited. */
  readonly exited: Promise<string>;
  readonly isRunning: () => boolean;
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL when that takes too long. */
  stop(graceMs: number): Promise<void>;
  kill(): Promise<void>;
}

export interface ServerProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly isDetached: boolean;
  /** Besides the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export function startServerProcess(options: ServerProcessOptions): ServerProcess {
  const { name, logFile, isDetached } = options;
  const child = spawn(options);
  const endWithParent = () => void child.kill("SIGKILL");
  if (!isDetached) process.once("exit", endWithParent);
  let running = true;
  const exited = new Promise<string>((resolve) => {
    const end = (text: string) => {
      running = false;
      process.off("exit", endWithParent);
      resolve(`${name} ${text}\n${lastLines(logFile)}`);
    };
    child.once("error", (failure) => end(`did not start: ${failure.message}`));
    child.once("exit", (code, signal) => end(`ended with ${signal ?? `exit code ${code}`}`));
  });
  if (isDetached) child.unref();
  const signal = (wanted: NodeJS.Signals) => {
    if (running) signalProcess(child.pid, wanted);
  };
  const kill = async () => {
    signal("SIGKILL");
    await exited;
  };
  return {
    pid: child.pid ?? 0,
    name,
    exited,
    isRunning: () => running,
    signal,
    async stop(graceMs) {
      // A frozen process would take SIGTERM only when it goes on.
      signal("SIGCONT");
      signal("SIGTERM");
      const timer = setTimeout(() => signal("SIGKILL"), graceMs);
      await exited;
      clearTimeout(timer);
    },
    kill,
  };
}

function spawn({ program, args, logFile, isDetached, env }: ServerProcessOptions): ChildProcess {
  const log = openSync(logFile, "a", 0o600);
  try {
    const guarded = !isDetached && has("setpriv") ? ["setpriv", "--pdeathsig", "KILL", "--"] : [];
    const [file = program, ...rest] = [...guarded, program, ...args];
    return spawnProgram(file, rest, {
      stdio: ["ignore", log, log],
      detached: isDetached,
      ...(env && { env: { ...process.env, ...env } }),
    });
  } finally {
    closeSync(log);
  }
}

function lastLines(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-15).join("\n");
}
