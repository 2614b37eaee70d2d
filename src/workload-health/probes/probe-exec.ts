import { type ChildProcess, spawn } from "node:child_process";
import { errorCode } from "../../base/coded-error.ts";
import type { ProbeResult } from "../core/health-state.ts";

/**
 * Runs the command without a shell, its output discarded. Exit code 0 is healthy; one that is too slow is killed, with all that it has
 * started: a shell that waits for a hanging client would leave one of them behind at every look.
 */
export function probeExec(command: readonly [string, ...string[]], signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const [program, ...args] = command;
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    let wasKilled = false;
    const kill = () => {
      wasKilled = true;
      killGroup(child);
    };
    if (signal.aborted) kill();
    signal.addEventListener("abort", kill, { once: true });
    const finish = (result: ProbeResult) => {
      signal.removeEventListener("abort", kill);
      resolve(result);
    };
    child.once("error", (thrown) => finish({ healthy: false, message: startFailure(program, thrown) }));
    child.once("exit", (code, name) => {
      if (wasKilled) finish({ healthy: false, message: "command timeout exceeded: signal: killed" });
      else if (code === 0) finish({ healthy: true });
      else finish({ healthy: false, message: code === null ? `signal: ${signalText(name)}` : `exit status ${code}` });
    });
  });
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL"); // It has not come to leading its group yet, or is gone.
  }
}

/** In the words that control planes have always shown. */
function startFailure(program: string, thrown: Error): string {
  const code = errorCode(thrown);
  if (code === "ENOENT" && !program.includes("/"))
    return `exec: ${JSON.stringify(program)}: executable file not found in $PATH`;
  if (code === "ENOENT") return `fork/exec ${program}: no such file or directory`;
  if (code === "EACCES") return `fork/exec ${program}: permission denied`;
  return `fork/exec ${program}: ${thrown.message}`;
}

const SIGNAL_TEXTS: Readonly<Record<string, string>> = {
  SIGABRT: "aborted",
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGKILL: "killed",
  SIGSEGV: "segmentation fault",
  SIGTERM: "terminated",
};

function signalText(name: NodeJS.Signals | null): string {
  return SIGNAL_TEXTS[name ?? ""] ?? `${name}`;
}
