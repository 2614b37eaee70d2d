import type { Command, CommandEntry } from "../framework/command.ts";
import { helpText, usageText } from "../framework/help-text.ts";
import { helpSubject, PROGRAM, ROOT } from "../framework/run-cli.ts";

/** `help [command]`. An unknown topic is reported on stderr with the root's usage, and does not fail. */
export function createHelpCommand(commands: readonly CommandEntry[]): Command {
  return {
    name: "help",
    use: "help [command]",
    short: "Help about any command",
    long: `Help provides help for any command in the application.\nSimply type ${PROGRAM} help [path to command] for full details.`,
    flags: [],
    async run({ args, env, print, printError }) {
      let subject = helpSubject({ command: ROOT, path: PROGRAM, subcommands: commands }, env);
      let entries = commands;
      for (const word of args) {
        const entry = entries.find((candidate) => candidate.name === word);
        if (entry === undefined) {
          if (subject.path !== PROGRAM) break;
          printError(`Unknown help topic [${args.map((arg) => `\`${arg}\``).join(" ")}]\n`);
          printError(usageText(helpSubject({ command: ROOT, path: PROGRAM, subcommands: commands }, env)));
          return 0;
        }
        const command = await entry.load();
        entries = command.subcommands ?? [];
        subject = helpSubject({ command, path: `${subject.path} ${entry.name}`, subcommands: entries }, env);
      }
      print(helpText(subject));
      return 0;
    },
  };
}
