import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync, unlinkSync } from "node:fs";
import { join } from "node:path";

export interface ProgramOptions {
  readonly timeoutMs: number;
  readonly env?: NodeJS.ProcessEnv;
  /** Runs it as somebody else. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /**
   * Folders for a file that takes the output, the first writable one counts. Node's pipes are sockets, and a program that opens
   * /dev/stdout (Envoy with an access log there) fails on them. Without a folder, or without a writable one, it is such a pipe.
   */
  readonly outputFolders?: readonly string[];
  /** Ends it as the time limit does. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProgramResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to stdout and stderr. */
  readonly output: string;
  /** Why it could not be started. */
  readonly error?: NodeJS.ErrnoException;
}

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** After the end of the program; its output is there by then, unless a process it left behind holds the pipe. */
const LAST_OUTPUT_MS = 200;

/** Runs a program to its end and collects its output, up to a limit. Never rejects. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramResult> {
  if (options.signal?.aborted) return { code: null, signal: "SIGKILL", output: "" };
  const output = openOutput(options.outputFolders ?? []);
  const target = output ?? "pipe";
  try {
    const child = spawn(file, args, {
      stdio: ["ignore", target, target],
      // A group of its own: what a script has started goes with it when it is killed.
      detached: true,
      ...(options.env === undefined ? {} : { env: options.env }),
      ...options.user,
    });
    const collected = collect(child);
    const ended = await whenEnded(child, options);
    return { ...ended, output: output === undefined ? collected() : readAll(output) };
  } catch (thrown) {
    // Node throws some failures to spawn (too long a command line) instead of reporting them later.
    return { code: null, signal: null, output: "", error: thrown as NodeJS.ErrnoException };
  } finally {
    if (output !== undefined) closeSync(output);
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

function collect(child: ChildProcess): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_OUTPUT_BYTES) chunks.push(chunk);
    });
  }
  return () => Buffer.concat(chunks).toString("utf8");
}

type Ended = Omit<ProgramResult, "output">;

/** `close` comes after the last output; a program that could not be started has none. */
async function whenEnded(child: ChildProcess, { timeoutMs, signal: stop }: ProgramOptions): Promise<Ended> {
  const kill = () => killGroup(child);
  const limit = setTimeout(kill, timeoutMs);
  stop?.addEventListener("abort", kill, { once: true });
  let grace: NodeJS.Timeout | undefined;
  const ended = await new Promise<Ended>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("exit", (code, signal) => {
      grace = setTimeout(() => resolve({ code, signal }), LAST_OUTPUT_MS);
      child.once("close", () => resolve({ code, signal }));
    });
  });
  clearTimeout(limit);
  clearTimeout(grace);
  stop?.removeEventListener("abort", kill);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return ended;
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // Gone by itself.
  }
}

function readAll(file: number): string {
  const content = Buffer.alloc(Math.min(fstatSync(file).size, MAX_OUTPUT_BYTES));
  const bytes = readSync(file, content, 0, content.length, 0);
  return content.toString("utf8", 0, bytes);
}
