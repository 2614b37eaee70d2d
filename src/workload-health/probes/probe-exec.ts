import { type ChildProcess, spawn } from "node:child_process";
import { errorCode } from "../../base/coded-error.ts";
import { signalText, spawnFailureText } from "../../process/process-text.ts";
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
    child.once("error", (thrown) =>
      finish({ healthy: false, message: spawnFailureText(program, errorCode(thrown) ?? thrown.message) }),
    );
    child.once("exit", (code, name) => {
      if (wasKilled) finish({ healthy: false, message: "command timeout exceeded: signal: killed" });
      else if (code === 0) finish({ healthy: true });
      else
        finish({
          healthy: false,
          message: code === null ? `signal: ${signalText(name ?? "")}` : `exit status ${code}`,
        });
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
