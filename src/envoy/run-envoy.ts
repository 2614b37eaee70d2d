import { closeSync, fstatSync, openSync, readSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { type RunOptions, type RunResult, runProgram } from "../process/run-program.ts";

export interface EnvoyRunOptions extends Pick<RunOptions, "env" | "user" | "signal"> {
  readonly timeoutMs: number;
  /**
   * Folders for a file that takes the output, the first writable one counts. Node's pipes are sockets, and a program that opens
   * /dev/stdout (Envoy with an access log there) fails on them. Without a folder, or without a writable one, it is such a pipe.
   */
  readonly outputFolders?: readonly string[];
}

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** After the end of the program; its output is there by then, unless a process it left behind holds the pipe. */
const LAST_OUTPUT_MS = 200;

/** Runs Envoy to its end and collects its output, up to a limit, in a process group of its own. Never rejects. */
export async function runEnvoy(
  binaryPath: string,
  args: readonly string[],
  options: EnvoyRunOptions,
): Promise<Omit<RunResult, "stdout" | "stderr">> {
  const { outputFolders = [], ...rest } = options;
  const limits = { ownGroup: true, maxOutputBytes: MAX_OUTPUT_BYTES, lastOutputMs: LAST_OUTPUT_MS };
  const file = openOutput(outputFolders);
  if (file === undefined) return runProgram(binaryPath, args, { ...rest, ...limits });
  try {
    const result = await runProgram(binaryPath, args, { ...rest, ...limits, output: file });
    return { ...result, output: readAll(file) };
  } finally {
    closeSync(file);
  }
}

/** A file without a name: nothing is left behind, however the agent ends. */
function openOutput(folders: readonly string[]): number | undefined {
  for (const folder of folders) {
    const path = join(folder, `.envoy-output-${process.pid}-${process.hrtime.bigint()}`);
    try {
      const file = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      return file;
    } catch {
      // Read-only, as root file systems of containers are; the next one may do.
    }
  }
  return undefined;
}

function readAll(file: number): string {
  const content = Buffer.alloc(Math.min(fstatSync(file).size, MAX_OUTPUT_BYTES));
  const bytes = readSync(file, content, 0, content.length, 0);
  return content.toString("utf8", 0, bytes);
}
