import type { Log } from "../../base/log/log.ts";
import type { Logger } from "../../base/logger.ts";
import type { CompletionInput, FlagSpec, FlagValues } from "./flags.ts";

/** What a command may touch of the process; everything else reaches it through its arguments. */
export interface CommandContext {
  /** Positional words after the command's name. */
  readonly args: readonly string[];
  readonly flags: FlagValues;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The words the process was started with, the runtime's own among them. */
  readonly commandLine: readonly string[];
  /** Those after the program's own name: the command, its flags and positional words as they were given. */
  readonly words: readonly string[];
  readonly log: Logger;
  /** Aborts on the first SIGTERM or SIGINT. Reading it takes the signals over: a command that does must end by itself. */
  readonly signal: AbortSignal;
  /** Takes over SIGTERM, SIGINT and SIGHUP for good and calls back for each of them, for commands that tell a first from a second. */
  onSignal(listener: (name: "SIGTERM" | "SIGINT" | "SIGHUP") => void): void;
  /** Milliseconds since the process started. */
  uptimeMs(): number;
  /** All scopes of the process, for commands that change levels while running. */
  readonly logRoot: Log;
  /** Whether a human watches stderr, so that progress lines make sense. */
  readonly isTerminal: boolean;
  print(text: string, encoding?: BufferEncoding): void;
  printError(text: string): void;
}

/** One sub-command. `run` resolves to the exit code; a thrown error is printed as `Error: message`, logged, and exits 255. */
export interface Command {
  readonly name: string;
  /** Usage line after "pilot-agent", for example `request <method> <path> [<body>]`. */
  readonly use: string;
  readonly short: string;
  readonly long?: string;
  readonly example?: string;
  readonly flags: readonly FlagSpec[];
  /** The flags as the help shows them, where their defaults depend on the environment. */
  readonly shownFlags?: (env: Readonly<Record<string, string | undefined>>) => readonly FlagSpec[];
  /** Unknown flags are skipped (and, as the flag may have a value, so is a following word that is not a flag). */
  readonly toleratesUnknownFlags?: boolean;
  /** The words after the name reach `run` as they are: no flag is parsed. */
  readonly takesRawWords?: boolean;
  /** Exit code where flags or words cannot be understood; 255 when absent. */
  readonly usageExitCode?: number;
  /** Returns the error text for an unacceptable number of positional words. */
  readonly checkArgs?: (args: readonly string[]) => string | undefined;
  /** What completion offers as the next positional word. */
  readonly completeArgs?: (input: CompletionInput) => readonly string[] | Promise<readonly string[]>;
  readonly subcommands?: readonly CommandEntry[];
  /** Absent for a command that only groups others: it prints its help. */
  readonly run?: (context: CommandContext) => Promise<number>;
}

/** What the root knows of a command without loading its code. */
export interface CommandEntry {
  readonly name: string;
  readonly short: string;
  readonly hidden?: boolean;
  load(): Promise<Command>;
}
