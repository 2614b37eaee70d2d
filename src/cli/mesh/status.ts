import { wait } from "../../base/wait.ts";
import { askStatus, formatStatus, runningState } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";

const EXIT_NOT_READY = 1;
const WATCH_MS = 1000;

type MeshStatus = Awaited<ReturnType<typeof askStatus>>;

export const command: Command = {
  name: "status",
  use: "status",
  short: "Shows what runs and what does not",
  long: "Shows every workload with its processes. The exit code is 1 when something is not ready or the configuration has a problem.",
  flags: [
    { name: "output", short: "o", type: "string", default: "table", usage: "Format: table or json" },
    { name: "watch", short: "w", type: "bool", default: false, usage: "Go on until Ctrl-C and print what changes" },
    ...TARGET_FLAGS,
  ],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  async run(context) {
    const output = context.flags.string("output");
    if (output !== "table" && output !== "json") {
      throw new Error(`--output is ${JSON.stringify(output)}, allowed are table, json`);
    }
    const ask = () => askStatus(runningState(targetFolder(context)));
    const print = (status: MeshStatus) =>
      output === "json" ? `${JSON.stringify(status, null, 2)}\n` : formatStatus(status);
    let status = await ask();
    let shown = print(status);
    context.print(shown);
    while (context.flags.bool("watch") && !context.signal.aborted) {
      await wait(WATCH_MS, context.signal);
      if (context.signal.aborted) break;
      status = await ask();
      const next = print(status);
      if (next !== shown) context.print(`\n${next}`);
      shown = next;
    }
    return isGood(status) ? 0 : EXIT_NOT_READY;
  },
};

function isGood({ controlPlane, workloads, problems }: MeshStatus): boolean {
  return controlPlane.ready && workloads.every(({ ready }) => ready) && problems.length === 0;
}
