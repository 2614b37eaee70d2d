import { signalText, spawnFailureText } from "../../process/exit-text.ts";
import { runProgram } from "../../process/run-program.ts";
import type { ProbeResult } from "../core/health-state.ts";

/**
 * Runs the command without a shell, its output discarded. Exit code 0 is healthy; one that is too slow is killed, with all that it has
 * started: a shell that waits for a hanging client would leave one of them behind at every probe.
 */
export async function probeExec(command: readonly [string, ...string[]], signal: AbortSignal): Promise<ProbeResult> {
  const [program, ...args] = command;
  const result = await runProgram(program, args, { output: "ignore", ownGroup: true, signal });
  if (result.error !== undefined) {
    const { code = "ERR_", message } = result.error;
    // Errors of Node itself have a code that is not the system's.
    return unhealthy(spawnFailureText(program, code.startsWith("ERR_") ? message : code));
  }
  if (signal.aborted) return unhealthy("command timeout exceeded: signal: killed");
  if (result.code === 0) return { healthy: true };
  return unhealthy(result.code === null ? `signal: ${signalText(result.signal ?? "")}` : `exit status ${result.code}`);
}

function unhealthy(message: string): ProbeResult {
  return { healthy: false, message };
}
