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

/** Runs a program to its end and collects its output, up to a limit. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramResult> {
  const output = openOutput(options.outputFolders ?? []);
  const target = output ?? "pipe";
  try {
    const child = spawn(file, args, {
      stdio: ["ignore", target, target],
      timeout: options.timeoutMs,
      killSignal: "SIGKILL",
      ...(options.env === undefined ? {} : { env: options.env }),
      ...options.user,
    });
    const collected = collect(child);
    const ended = await whenEnded(child);
    return { ...ended, output: output === undefined ? collected() : readAll(output) };
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

/** `close` comes after the last output; a program that could not be started has none. */
function whenEnded(child: ChildProcess): Promise<Omit<ProgramResult, "output">> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

function readAll(file: number): string {
  const content = Buffer.alloc(Math.min(fstatSync(file).size, MAX_OUTPUT_BYTES));
  const bytes = readSync(file, content, 0, content.length, 0);
  return content.toString("utf8", 0, bytes);
}
