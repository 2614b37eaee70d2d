import { existsSync } from "node:fs";
import { findLogs, followLogs, prefixLines } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";

export const command: Command = {
  name: "logs",
  use: "logs [workload ...]",
  short: "Shows the logs of applications, agents and Envoys",
  long: "Shows the ends of the logs; with --follow also what is added. A workload's agent and Envoy write to one log.",
  example: `  # What the application of the workload front says
  pilot-agent mesh logs -f front/app`,
  flags: [
    { name: "follow", short: "f", type: "bool", default: false, usage: "Go on until Ctrl-C" },
    { name: "tail", type: "int", default: 20, usage: "Lines of each log to begin with" },
    ...TARGET_FLAGS,
  ],
  async run(context) {
    const { args, flags, print, isTerminal } = context;
    const { logs } = targetFolder(context);
    if (!existsSync(logs)) throw new Error(`there are no logs in ${logs} yet`);
    const sources = args.length === 0 ? findLogs(logs, undefined) : args.flatMap((name) => logsOf(logs, name));
    const width = Math.max(...sources.map(({ name }) => name.length));
    await followLogs(sources, {
      tail: flags.int("tail"),
      follow: flags.bool("follow"),
      signal: context.signal,
      show: ({ name }, text) =>
        print(prefixLines(name, text, { width, hasColours: isTerminal && !context.env.NO_COLOR })),
    });
    return 0;
  },
};

function logsOf(folder: string, name: string): ReturnType<typeof findLogs> {
  const found = findLogs(folder, name);
  if (found.length > 0) return found;
  const names = findLogs(folder, undefined).map((source) => source.name.replace(/\/(app|agent)$/, ""));
  throw new Error(`there is no log of ${name}; there are ${[...new Set(names)].join(", ")}`);
}
