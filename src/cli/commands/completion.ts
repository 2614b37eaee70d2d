import type { Command } from "../framework/command.ts";
import { completionScript, SHELLS, type Shell } from "../framework/completion-scripts.ts";
import { PROGRAM } from "../framework/run-cli.ts";

const HOW_TO: Readonly<Record<Shell, string>> = {
  bash: `  source <(${PROGRAM} completion bash)`,
  zsh: `  source <(${PROGRAM} completion zsh)`,
  fish: `  ${PROGRAM} completion fish | source`,
  powershell: `  ${PROGRAM} completion powershell | Out-String | Invoke-Expression`,
};

export const command: Command = {
  name: "completion",
  use: "completion",
  short: "Generate the autocompletion script for the specified shell",
  long: `Generate the autocompletion script for ${PROGRAM} for the specified shell.
See each sub-command's help for details on how to use the generated script.`,
  flags: [],
  subcommands: SHELLS.map((shell) => {
    const short = `Generate the autocompletion script for ${shell}`;
    return { name: shell, short, load: async () => shellCommand(shell, short) };
  }),
};

function shellCommand(shell: Shell, short: string): Command {
  return {
    name: shell,
    use: shell,
    short,
    long: `${short}.\n\nTo load completions in your current shell session:\n\n${HOW_TO[shell]}`,
    flags: [{ name: "no-descriptions", type: "bool", default: false, usage: "disable completion descriptions" }],
    checkArgs: (args) =>
      args[0] === undefined ? undefined : `unknown command "${args[0]}" for "${PROGRAM} completion ${shell}"`,
    async run({ flags, print }) {
      print(completionScript(shell, PROGRAM, !flags.bool("no-descriptions")));
      return 0;
    },
  };
}
