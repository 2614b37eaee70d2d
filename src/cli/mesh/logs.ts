import { existsSync } from "node:fs";
import { parseDuration } from "../../base/duration.ts";
import { findLogs, followLogs, prefixLines } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { logNames } from "./complete.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";
import { UsageMistake } from "./usage-mistake.ts";

const NANOSECONDS_PER_MS = 1_000_000n;

export const command: Command = {
  name: "logs",
  use: "logs [workload|service ...]",
  short: "Shows the logs of applications, agents and Envoys",
  long: `Shows the ends of the logs; with --follow also what is added. A workload's agent and Envoy write to one log; a service means all of
its workloads. Logs stay when a mesh ends, until it is started again.`,
  example: `  # What the application of the workload front says
  pilot-agent mesh logs -f front/app

  # All of the last ten minutes
  pilot-agent mesh logs --since 10m`,
  flags: [
    { name: "follow", short: "f", type: "bool", default: false, usage: "Go on until Ctrl-C" },
    { name: "tail", type: "int", default: 20, usage: "Lines of each log to begin with; with --since all by default" },
    {
      name: "since",
      type: "string",
      default: "",
      usage: "Only what was written since: a time before now (10m, 1h30m) or a timestamp (2026-11-17T20:15:00Z)",
    },
    ...TARGET_FLAGS,
  ],
  completeArgs: logNames,
  async run(context) {
    const { args, flags, print, isTerminal } = context;
    const tail = flags.int("tail");
    if (tail < 0) throw new UsageMistake(`--tail is ${tail}, allowed are 0 and more`);
    const since = flags.string("since") === "" ? undefined : parseSince(flags.string("since"), Date.now());
    const { logs } = targetFolder(context, { alsoEnded: true });
    if (!existsSync(logs)) throw new Error(`there are no logs in ${logs} yet`);
    const sources = args.length === 0 ? findLogs(logs, undefined) : args.flatMap((name) => logsOf(logs, name));
    const width = Math.max(...sources.map(({ name }) => name.length));
    await followLogs(sources, {
      tail: since === undefined || flags.changed("tail") ? tail : Number.POSITIVE_INFINITY,
      since,
      follow: flags.bool("follow"),
      signal: context.signal,
      show: ({ name }, text) =>
        print(prefixLines(name, text, { width, hasColours: isTerminal && !context.env.NO_COLOR })),
    });
    return 0;
  },
};

/** Milliseconds since 1970. */
export function parseSince(text: string, now: number): number {
  try {
    const before = parseDuration(text);
    if (before >= 0n) return now - Number(before / NANOSECONDS_PER_MS);
  } catch {
    const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
    if (!Number.isNaN(at)) return at;
  }
  const allowed = "allowed are times before now such as 30s, 10m or 1h30m, and timestamps such as 2026-11-17T20:15:00Z";
  throw new UsageMistake(`--since is ${JSON.stringify(text)}, ${allowed}`);
}

function logsOf(folder: string, name: string): ReturnType<typeof findLogs> {
  const found = findLogs(folder, name);
  if (found.length > 0) return found;
  const names = findLogs(folder, undefined).map((source) => source.name.replace(/\/(app|agent)$/, ""));
  throw new Error(`there is no log of ${name}; there are ${[...new Set(names)].join(", ")}`);
}
