import { errorMessage } from "../../base/coded-error.ts";
import { quoteGo } from "../../base/go-quote.ts";
import type { Log } from "../../base/log/log.ts";
import { scopesWithoutEffect } from "../../base/log/scope-levels.ts";
import { suggest } from "../../base/suggest.ts";
import { environmentWarnings } from "../../settings/environment-warnings.ts";
import type { Command, CommandContext, CommandEntry } from "./command.ts";
import { findCommandWord } from "./find-command.ts";
import { createFlagValues } from "./flag-values.ts";
import type { FlagSpec } from "./flags.ts";
import { type HelpSubject, helpText } from "./help-text.ts";
import { LOG_FLAGS, readLogSettings } from "./log-flags.ts";
import { FlagError, parseFlags } from "./parse-flags.ts";

export const PROGRAM = "pilot-agent";

/** Any returned error: the reference exits with -1. */
const EXIT_ERROR = 255;

export interface CliOptions {
  readonly words: readonly string[];
  readonly commands: readonly CommandEntry[];
  readonly env: CommandContext["env"];
  readonly commandLine: readonly string[];
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onSignal: CommandContext["onSignal"];
  readonly uptimeMs: CommandContext["uptimeMs"];
  readonly isTerminal: boolean;
  readonly now: () => number;
  print(text: string, encoding?: BufferEncoding): void;
  printError(text: string): void;
}

/** Finds the command, parses its flags, runs it. Resolves to the exit code; never rejects. */
export async function runCli(options: CliOptions): Promise<number> {
  const { log, printError } = options;
  // Logged before the logging flags are known and for every command, so that the same setting shows the same line everywhere.
  for (const { text, variable } of environmentWarnings(options.env)) log.logger.warn(text, { variable });
  try {
    return await runCommand(options, await locate(options));
  } catch (thrown) {
    const message = errorMessage(thrown);
    printError(`Error: ${message}\n`);
    if (thrown instanceof UnknownCommand) printError(`Run '${thrown.path} --help' for usage.\n`);
    const exitCode = thrown instanceof UsageError ? thrown.exitCode : EXIT_ERROR;
    // Commands that the reference's program has also log it, for collectors of its log.
    if (exitCode === EXIT_ERROR) log.logger.error(message);
    return exitCode;
  }
}

/** A command line that cannot be understood. */
class UsageError extends Error {
  readonly exitCode: number;
  constructor(cause: unknown, exitCode: number) {
    super(errorMessage(cause), { cause });
    this.exitCode = exitCode;
  }
}

class UnknownCommand extends UsageError {
  /** The command that has none of this name. */
  readonly path: string;
  constructor(message: string, path: string, exitCode: number) {
    super(message, exitCode);
    this.path = path;
  }
}

interface Located {
  readonly command: Command;
  readonly path: string;
  readonly subcommands: readonly CommandEntry[];
  /** What is left of the command line: flags and positional words. */
  readonly words: readonly string[];
}

export const ROOT: Command = {
  name: PROGRAM,
  use: PROGRAM,
  short: "Istio Pilot agent.",
  long: "Istio Pilot agent runs in the sidecar or gateway container and bootstraps Envoy.",
  flags: LOG_FLAGS,
  toleratesUnknownFlags: true,
};

async function locate(options: CliOptions): Promise<Located> {
  let located: Located = { command: ROOT, path: PROGRAM, subcommands: options.commands, words: options.words };
  while (located.subcommands.length > 0) {
    const { subcommands, path } = located;
    const specs = withHelp(located.command === ROOT ? ROOT.flags : [...located.command.flags, ...LOG_FLAGS], path);
    const { word, rest } = findCommandWord(specs, located.words);
    const entry = subcommands.find((candidate) => candidate.name === word);
    if (entry === undefined) {
      // A command that runs itself may have arguments. Groups of the reference print their help, ours have exit codes of their own.
      const { command } = located;
      const refuses = command === ROOT || (command.run === undefined && command.usageExitCode !== undefined);
      if (word !== undefined && refuses) throw unknownCommand(word, located);
      return located;
    }
    const next = await entry.load();
    located = { command: next, path: `${path} ${entry.name}`, subcommands: next.subcommands ?? [], words: rest };
  }
  return located;
}

function parseWords(command: Command, specs: readonly FlagSpec[], words: readonly string[]) {
  if (command.takesRawWords) return { set: new Map(), args: words, ignored: [] };
  try {
    return parseFlags(specs, words, command.toleratesUnknownFlags === true);
  } catch (thrown) {
    const isOurs = command.usageExitCode !== undefined && thrown instanceof FlagError;
    throw new UsageError(isOurs ? plainText(thrown, specs) : thrown, command.usageExitCode ?? EXIT_ERROR);
  }
}

function plainText({ code, plain }: FlagError, specs: readonly FlagSpec[]): string {
  if (code !== "unknown-flag") return plain;
  const typed = plain.slice(plain.indexOf("-")).replace(/^-+/, "");
  const names = specs.filter(({ hidden }) => hidden !== true).map(({ name }) => name);
  const near = typed.length > 1 ? suggest(typed, names) : [];
  return `${plain}${near.length === 0 ? "" : `; did you mean ${near.map((name) => `--${name}`).join(" or ")}?`}`;
}

async function runCommand(options: CliOptions, located: Located): Promise<number> {
  const { command, path } = located;
  const specs = withHelp(command === ROOT ? ROOT.flags : [...command.flags, ...LOG_FLAGS], path);
  const parsed = parseWords(command, specs, located.words);
  if (parsed.set.get("help") === true || command.run === undefined) {
    options.print(helpText(helpSubject(located, options.env)));
    return 0;
  }
  const refusal = command.checkArgs?.(parsed.args);
  if (refusal !== undefined) throw new UsageError(refusal, command.usageExitCode ?? EXIT_ERROR);
  const flags = createFlagValues(specs, parsed.set, options.env);
  options.log.configure(readLogSettings(flags, options.now));
  for (const scope of scopesWithoutEffect(flags.string("log_output_level"))) {
    options.log.logger.warn(`--log_output_level: scope ${quoteGo(scope)} has no effect, nothing logs with it`);
  }
  for (const ignored of parsed.ignored) {
    options.log.logger.warn(`Ignoring unknown flag ${ignored}: no flag of ${path} has that name`);
  }
  for (const spec of command.flags) {
    if (spec.deprecated !== undefined && flags.changed(spec.name))
      options.log.logger.warn(`Flag --${spec.name} is ignored: ${spec.deprecated}`);
  }
  return command.run({
    args: parsed.args,
    flags,
    env: options.env,
    commandLine: options.commandLine,
    words: options.words,
    log: options.log.logger,
    // Asked for only by commands that stop gracefully; the others keep the default action of signals.
    get signal() {
      return options.signal;
    },
    onSignal: options.onSignal,
    uptimeMs: options.uptimeMs,
    logRoot: options.log,
    get isTerminal() {
      return options.isTerminal;
    },
    print: options.print,
    printError: options.printError,
  });
}

/** The help flag is declared like any other, so that errors elsewhere on the line come first. */
export function withHelp(flags: readonly FlagSpec[], path: string): readonly FlagSpec[] {
  const name = path.split(" ").at(-1) ?? path;
  return [...flags, { name: "help", short: "h", type: "bool", default: false, usage: `help for ${name}` }];
}

export function helpSubject(
  located: Pick<Located, "command" | "path" | "subcommands">,
  env: CommandContext["env"],
): HelpSubject {
  const isRoot = located.command === ROOT;
  const own = located.command.shownFlags?.(env) ?? located.command.flags;
  return {
    command: { ...located.command, flags: withHelp(isRoot ? LOG_FLAGS : own, located.path) },
    path: located.path,
    subcommands: located.subcommands,
    globalFlags: isRoot ? [] : LOG_FLAGS,
  };
}

function unknownCommand(word: string, { command, path, subcommands }: Located): UnknownCommand {
  const names = suggest(
    word,
    subcommands.filter((entry) => entry.hidden !== true).map((entry) => entry.name),
  );
  const hint = names.length === 0 ? "" : `\n\nDid you mean this?\n${names.map((name) => `\t${name}\n`).join("")}`;
  const message = `unknown command ${quoteGo(word)} for "${path}"${hint}`;
  return new UnknownCommand(message, path, command.usageExitCode ?? EXIT_ERROR);
}
