import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { signalGroup } from "./spawn-program.ts";

export interface RunOptions {
  /** Written to its standard input, which is closed afterwards; empty when absent. */
  readonly input?: string;
  /** The whole environment of the program; inherited when absent. */
  readonly env?: Readonly<NodeJS.ProcessEnv>;
  readonly cwd?: string;
  /** Drops to this user and group, without supplementary groups. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Kills it after this time, as `signal` does. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** A process group of its own: what a script has started is killed with it, and Ctrl-C does not reach it. */
  readonly ownGroup?: boolean;
  /** A descriptor that takes stdout and stderr, or "ignore"; collected when absent. */
  readonly output?: number | "ignore";
  /** Of stdout and stderr together; the rest is dropped. */
  readonly maxOutputBytes?: number;
  /** How long after its exit a process that it left behind may hold the pipes open; without a limit when absent. */
  readonly lastOutputMs?: number;
}

export interface RunResult {
  /** Null when it could not be started or was ended by a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order of arrival. */
  readonly output: string;
  /** Why it could not be started. */
  readonly error?: NodeJS.ErrnoException;
}

/** Runs a program to its end, without a shell. Never rejects. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  if (options.signal?.aborted) return { code: null, signal: "SIGKILL", ...NO_OUTPUT };
  const { input, env, cwd, user, output = "pipe", ownGroup = false } = options;
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      stdio: [input === undefined ? "ignore" : "pipe", output, output],
      detached: ownGroup,
      ...(env !== undefined && { env }),
      ...(cwd !== undefined && { cwd }),
      ...user,
    });
  } catch (thrown) {
    // Node throws some failures (too long a command line) instead of reporting them later.
    return { code: null, signal: null, ...NO_OUTPUT, error: thrown as NodeJS.ErrnoException };
  }
  const collected = collect(child, options.maxOutputBytes ?? Number.POSITIVE_INFINITY);
  // A program that fails early closes its input before all of it was written; its exit code tells more than EPIPE.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  const ended = await whenEnded(child, options);
  return { ...ended, ...collected() };
}

/** For start-up code that cannot wait: standard output of a program that ends at once. Throws when it fails. */
export function runProgramSync(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

const NO_OUTPUT = { stdout: "", stderr: "", output: "" };

function collect(child: ChildProcess, maxBytes: number): () => typeof NO_OUTPUT {
  const chunks: { readonly from: "stdout" | "stderr"; readonly chunk: Buffer }[] = [];
  let bytes = 0;
  for (const from of ["stdout", "stderr"] as const) {
    child[from]?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push({ from, chunk });
    });
  }
  const text = (from?: "stdout" | "stderr") => {
    const wanted = chunks.filter((each) => from === undefined || each.from === from);
    return Buffer.concat(wanted.map(({ chunk }) => chunk)).toString();
  };
  return () => ({ stdout: text("stdout"), stderr: text("stderr"), output: text() });
}

type Ended = Pick<RunResult, "code" | "signal" | "error">;

/** `close` comes after the last output; a program that could not be started has none. */
async function whenEnded(child: ChildProcess, options: RunOptions): Promise<Ended> {
  const { timeoutMs, lastOutputMs, signal: stop, ownGroup } = options;
  const kill = () => (ownGroup ? signalGroup(child, "SIGKILL") : void child.kill("SIGKILL"));
  const limit = timeoutMs === undefined ? undefined : setTimeout(kill, timeoutMs);
  stop?.addEventListener("abort", kill, { once: true });
  let grace: NodeJS.Timeout | undefined;
  const ended = await new Promise<Ended>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("exit", (code, signal) => {
      if (lastOutputMs !== undefined) grace = setTimeout(() => resolve({ code, signal }), lastOutputMs);
      child.once("close", () => resolve({ code, signal }));
    });
  });
  clearTimeout(limit);
  clearTimeout(grace);
  stop?.removeEventListener("abort", kill);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return ended;
}
