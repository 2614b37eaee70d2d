import { askStatus, formatStatus, runningState } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";

const EXIT_NOT_READY = 1;

export const command: Command = {
  name: "status",
  use: "status",
  short: "Shows what runs and what does not",
  long: "Shows every workload with its processes. The exit code is 1 when something is not ready or the configuration has a problem.",
  flags: [
    { name: "output", short: "o", type: "string", default: "table", usage: "Format: table or json" },
    ...TARGET_FLAGS,
  ],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  async run(context) {
    const output = context.flags.string("output");
    if (output !== "table" && output !== "json") {
      throw new Error(`--output is ${JSON.stringify(output)}, allowed are table, json`);
    }
    const status = await askStatus(runningState(targetFolder(context)));
    context.print(output === "json" ? `${JSON.stringify(status, null, 2)}\n` : formatStatus(status));
    const isGood =
      status.controlPlane.ready && status.workloads.every(({ ready }) => ready) && status.problems.length === 0;
    return isGood ? 0 : EXIT_NOT_READY;
  },
};
