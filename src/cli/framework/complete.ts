import type { Command, CommandContext, CommandEntry } from "./command.ts";
import { createFlagValues } from "./flag-values.ts";
import type { CompletionInput, FlagSpec, FlagValue } from "./flags.ts";
import { LOG_FLAGS } from "./log-flags.ts";
import { parseFlagValue } from "./parse-flags.ts";
import { ROOT, withHelp } from "./run-cli.ts";

/** One proposal for the word under the cursor. */
export interface Completion {
  readonly text: string;
  readonly description: string;
}

/** Candidates for the last of `words`: sub-commands, flags once it starts with a dash, values of flags, arguments of the command. */
export async function completions(
  commands: readonly CommandEntry[],
  words: readonly string[],
  env: CommandContext["env"] = {},
): Promise<Completion[]> {
  const typed = words.at(-1) ?? "";
  const located = await locate(commands, words.slice(0, -1));
  const { command, entries, specs } = located;
  const read = readWords(specs, located.rest);
  const input: CompletionInput = { args: read.args, flags: createFlagValues(specs, read.set, env), env };
  if (read.open !== undefined) return offer(valuesOf(read.open, input), typed);
  if (read.isEnded) return [];
  if (typed.startsWith("-")) {
    const [, name = ""] = /^--([^=]+)=/.exec(typed) ?? [];
    const spec = name === "" ? undefined : specs.find((each) => each.name === name);
    if (spec !== undefined)
      return offer(
        valuesOf(spec, input).map((value) => `--${name}=${value}`),
        typed,
      );
    return specs
      .filter(({ hidden }) => hidden !== true)
      .flatMap(flagForms)
      .filter(({ text }) => text.startsWith(typed))
      .toSorted(byText);
  }
  const own = read.args.length > 0 && command.subcommands !== undefined ? [] : entries;
  const names = own
    .filter((entry) => entry.hidden !== true && entry.name.startsWith(typed))
    .map((entry) => ({ text: entry.name, description: entry.short }));
  return [...names.toSorted(byText), ...offer((await command.completeArgs?.(input)) ?? [], typed)];
}

interface Located {
  readonly command: Command;
  readonly entries: readonly CommandEntry[];
  readonly specs: readonly FlagSpec[];
  /** Words behind the command's name. */
  readonly rest: readonly string[];
}

async function locate(commands: readonly CommandEntry[], words: readonly string[]): Promise<Located> {
  let command = ROOT;
  let entries = commands;
  let path = "pilot-agent";
  let rest: readonly string[] = words;
  for (const [index, word] of words.entries()) {
    const entry = entries.find((candidate) => candidate.name === word);
    if (entry === undefined) continue;
    command = await entry.load();
    // The topics of help are the commands themselves.
    entries = entry.name === "help" ? commands : (command.subcommands ?? []);
    path = `${path} ${entry.name}`;
    rest = words.slice(index + 1);
  }
  const own = command === ROOT ? [] : command.flags;
  return { command, entries, specs: withHelp([...own, ...LOG_FLAGS], path), rest };
}

interface ReadWords {
  readonly args: readonly string[];
  readonly set: ReadonlyMap<string, FlagValue>;
  /** The flag whose value is the word under the cursor. */
  readonly open: FlagSpec | undefined;
  /** Behind a `--`, where words are those of another program. */
  readonly isEnded: boolean;
}

/** Unlike the parser this reads what is not finished, and may be wrong. */
function readWords(specs: readonly FlagSpec[], words: readonly string[]): ReadWords {
  const args: string[] = [];
  const set = new Map<string, FlagValue>();
  let open: FlagSpec | undefined;
  for (const word of words) {
    if (open !== undefined) {
      put(set, open, word);
      open = undefined;
      continue;
    }
    if (word === "--") return { args, set, open, isEnded: true };
    if (!word.startsWith("-")) {
      args.push(word);
      continue;
    }
    const [, name = "", value] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const spec = specs.find((each) => (word.startsWith("--") ? each.name === name : each.short === name.at(-1)));
    if (spec === undefined) continue;
    if (value !== undefined) put(set, spec, value);
    else if (spec.type !== "bool") open = spec;
  }
  return { args, set, open, isEnded: false };
}

function put(set: Map<string, FlagValue>, spec: FlagSpec, text: string): void {
  try {
    set.set(spec.name, parseFlagValue(spec, text));
  } catch {
    // The command itself will say so.
  }
}

function valuesOf({ values }: FlagSpec, input: CompletionInput): readonly string[] {
  return typeof values === "function" ? values(input) : (values ?? []);
}

function offer(values: readonly string[], typed: string): Completion[] {
  const fitting = new Set(values.filter((value) => value.startsWith(typed)));
  return [...fitting].toSorted().map((text) => ({ text, description: "" }));
}

function byText(a: Completion, b: Completion): number {
  return a.text < b.text ? -1 : 1;
}

function flagForms(spec: FlagSpec): Completion[] {
  const description = spec.usage.split("\n")[0] ?? "";
  const long = { text: `--${spec.name}${spec.type === "bool" ? "" : "="}`, description };
  return spec.short === undefined ? [long] : [long, { text: `-${spec.short}`, description }];
}

/** Hidden command behind the shell scripts: candidates, one a line, then the directive "no file names". */
export function createCompleteCommand(commands: readonly CommandEntry[], withDescriptions: boolean): Command {
  const name = withDescriptions ? "__complete" : "__completeNoDesc";
  return {
    name,
    use: `${name} [command-line]`,
    short: "Request shell completion choices for the specified command-line",
    flags: [],
    takesRawWords: true,
    async run({ args, env, print, printError }) {
      for (const { text, description } of await completions(commands, args, env)) {
        print(withDescriptions ? `${text}\t${description}\n` : `${text}\n`);
      }
      print(":4\n");
      printError("Completion ended with directive: ShellCompDirectiveNoFileComp\n");
      return 0;
    },
  };
}
