import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface ProgramResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** stdout and stderr in the order they were written. */
  readonly output: string;
  /** Why it could not be started. */
  readonly error?: NodeJS.ErrnoException;
}

/**
 * Runs a program to its end. The output goes through a file, because Node's pipes are sockets: a program that opens /dev/stdout
 * (Envoy with an access log there) would fail on them.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly env?: NodeJS.ProcessEnv },
): Promise<ProgramResult> {
  const folder = mkdtempSync(join(tmpdir(), "pilot-agent-"));
  const path = join(folder, "output");
  const output = openSync(path, "w", 0o600);
  try {
    const ended = await new Promise<Omit<ProgramResult, "output">>((resolve) => {
      const child = spawn(file, args, {
        stdio: ["ignore", output, output],
        timeout: options.timeoutMs,
        killSignal: "SIGKILL",
        ...(options.env === undefined ? {} : { env: options.env }),
      });
      child.once("error", (error) => resolve({ code: null, signal: null, error }));
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    return { ...ended, output: readFileSync(path, "utf8") };
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  }
}
