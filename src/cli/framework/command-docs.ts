import type { Command, CommandEntry } from "./command.ts";
import type { FlagSpec } from "./flags.ts";
import { LOG_FLAGS } from "./log-flags.ts";
import { PROGRAM, ROOT, withHelp } from "./run-cli.ts";

/** What the generated documents say of one command. */
export interface CommandDoc {
  /** All words, starting with the program's name. */
  readonly path: string;
  readonly usage: string;
  readonly short: string;
  readonly long: string;
  readonly example: string;
  readonly flags: readonly FlagSpec[];
  readonly globalFlags: readonly FlagSpec[];
  /** Paths of the commands above and directly below. */
  readonly related: readonly { readonly path: string; readonly short: string }[];
}

/** The root and every visible command below it, parents first, siblings by name. */
export async function collectCommandDocs(commands: readonly CommandEntry[]): Promise<CommandDoc[]> {
  return collect(ROOT, PROGRAM, commands, []);
}

async function collect(
  command: Command,
  path: string,
  entries: readonly CommandEntry[],
  above: CommandDoc["related"],
): Promise<CommandDoc[]> {
  const visible = entries.filter((entry) => entry.hidden !== true).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const isRoot = command === ROOT;
  const doc: CommandDoc = {
    path,
    usage: command.run === undefined ? path : `${path.split(" ").slice(0, -1).concat(command.use).join(" ")} [flags]`,
    short: command.short,
    long: command.long ?? command.short,
    example: command.example ?? "",
    flags: sorted(withHelp(isRoot ? LOG_FLAGS : command.flags, path)),
    globalFlags: isRoot ? [] : sorted(LOG_FLAGS),
    related: [...above, ...visible.map((entry) => ({ path: `${path} ${entry.name}`, short: entry.short }))],
  };
  const below: CommandDoc[] = [];
  for (const entry of visible) {
    const child = await entry.load();
    below.push(
      ...(await collect(child, `${path} ${entry.name}`, child.subcommands ?? [], [{ path, short: command.short }])),
    );
  }
  return [doc, ...below];
}

function sorted(flags: readonly FlagSpec[]): readonly FlagSpec[] {
  return flags.filter((spec) => spec.hidden !== true).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
