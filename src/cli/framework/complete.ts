import type { Command, CommandEntry } from "./command.ts";
import type { FlagSpec } from "./flags.ts";
import { LOG_FLAGS } from "./log-flags.ts";
import { withHelp } from "./run-cli.ts";

/** One proposal for the word under the cursor. */
export interface Completion {
  readonly text: string;
  readonly description: string;
}

/** Candidates for the last of `words`: sub-commands, or flags once it starts with a dash. */
export async function completions(commands: readonly CommandEntry[], words: readonly string[]): Promise<Completion[]> {
  const typed = words.at(-1) ?? "";
  let entries: readonly CommandEntry[] = commands;
  let flags: readonly FlagSpec[] = [];
  let path = "pilot-agent";
  for (const word of words.slice(0, -1)) {
    const entry = entries.find((candidate) => candidate.name === word);
    if (entry === undefined) continue;
    const command: Command = await entry.load();
    // The topics of help are the commands themselves.
    entries = entry.name === "help" ? commands : (command.subcommands ?? []);
    flags = command.flags;
    path = `${path} ${entry.name}`;
  }
  if (typed.startsWith("-")) {
    return withHelp([...flags, ...LOG_FLAGS], path)
      .filter((spec) => spec.hidden !== true)
      .flatMap((spec) => flagForms(spec))
      .filter((candidate) => candidate.text.startsWith(typed))
      .toSorted((a, b) => (a.text < b.text ? -1 : 1));
  }
  return entries
    .filter((entry) => entry.hidden !== true && entry.name.startsWith(typed))
    .map((entry) => ({ text: entry.name, description: entry.short }))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1));
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
    async run({ args, print, printError }) {
      for (const { text, description } of await completions(commands, args)) {
        print(withDescriptions ? `${text}\t${description}\n` : `${text}\n`);
      }
      print(":4\n");
      printError("Completion ended with directive: ShellCompDirectiveNoFileComp\n");
      return 0;
    },
  };
}
