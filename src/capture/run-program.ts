import { runProgram as run } from "../process/run-program.ts";

export interface ProgramCall {
  readonly program: string;
  readonly args: readonly string[];
  /** Written to its standard input, which is closed afterwards. */
  readonly input?: string;
  /** The whole environment of the program; inherited when absent. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProgramResult {
  /** Undefined when the program could not be started at all. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it could not be started, or the signal that ended it. */
  readonly failure?: string;
  readonly missing?: boolean;
}

/** Runs a program to its end; never rejects, never goes through a shell. */
export type RunProgram = (call: ProgramCall) => Promise<ProgramResult>;

export const runProgram: RunProgram = async ({ program, args, input = "", env }) => {
  const result = await run(program, args, { input, ...(env !== undefined && { env }) });
  const { stdout, stderr, error } = result;
  if (error === undefined) {
    if (result.code === null) return { stdout, stderr, code: 255, failure: `ended by ${result.signal}` };
    return { stdout, stderr, code: result.code };
  }
  const missing = error.code === "ENOENT";
  const failure = missing ? `exec: "${program}": executable file not found in $PATH` : error.message;
  return { code: undefined, stdout: "", stderr: "", failure, missing };
};

/** `program args`, for logs and messages. */
function commandText(call: Pick<ProgramCall, "program" | "args">): string {
  return [call.program, ...call.args].join(" ");
}

const XTABLES_CODES: Readonly<Record<number, string>> = {
  1: "xtables other problem",
  2: "xtables parameter problem",
  3: "xtables version problem",
  4: "xtables resource problem",
};

/** One sentence about a failed call, with the classes that xtables programs put into their exit codes. */
export function failureText(call: Pick<ProgramCall, "program" | "args">, result: ProgramResult): string {
  if (result.code === undefined) return `failed to execute ${call.program}: ${result.failure}`;
  const said = result.stderr.trim();
  const kind = /tables/.test(call.program) ? XTABLES_CODES[result.code] : undefined;
  const reason = [kind, said || result.failure].filter((part) => part !== undefined && part !== "").join(": ");
  return `failed to execute ${commandText(call)}: exit status ${result.code}: ${reason}`;
}
