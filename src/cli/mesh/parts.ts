import { actOnPart, runningState } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { first, partsOf, workloadsOf } from "./complete.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";

const WHAT = "control-plane, WORKLOAD/app, WORKLOAD/agent";

export const killCommand = partCommand("kill", {
  short: "Kills a process of a running mesh, to see it come back",
  long: `Sends SIGKILL to ${WHAT} or WORKLOAD/envoy of a running mesh. It is started again.`,
});

export const stopCommand = partCommand("stop", {
  short: "Stops a process of a running mesh",
  long: `Stops ${WHAT} of a running mesh until mesh start starts it again, to see how the others get along.`,
});

export const startCommand = partCommand("start", {
  short: "Starts a stopped process of a running mesh",
  long: `Starts ${WHAT} of a running mesh after mesh stop.`,
});

export const restartCommand: Command = {
  name: "restart",
  use: "restart part [part ...]",
  short: "Stops and starts processes of a running mesh",
  long: `Stops and starts ${WHAT} of a running mesh, one after the other; a workload's name alone means its application.`,
  example: `  pilot-agent mesh restart web/app api/app`,
  flags: TARGET_FLAGS,
  completeArgs: partsOf,
  checkArgs: (args) => (args.length > 0 ? undefined : `which one? ${WHAT}`),
  async run(context) {
    const state = runningState(targetFolder(context));
    for (const word of context.args) {
      const part = word.includes("/") || word === "control-plane" ? word : `${word}/app`;
      await actOnPart(state, part, "stop");
      const pid = await actOnPart(state, part, "start");
      context.print(`${part} restarted${pid === undefined ? "" : ` (process ${pid})`}\n`);
    }
    return 0;
  },
};

const DONE = { kill: "killed", stop: "stopped", start: "started" } as const;

function partCommand(action: keyof typeof DONE, texts: Pick<Command, "short" | "long">): Command {
  return {
    name: action,
    use: `${action} part`,
    ...texts,
    flags: TARGET_FLAGS,
    completeArgs: first((input) => [
      ...partsOf(input),
      ...(action === "kill" ? workloadsOf(input).map((name) => `${name}/envoy`) : []),
    ]),
    checkArgs: (args) => (args.length === 1 ? undefined : `one part is expected, found ${args.length}: ${WHAT}`),
    async run(context) {
      const [part = ""] = context.args;
      const pid = await actOnPart(runningState(targetFolder(context)), part, action);
      context.print(`${part} ${DONE[action]}${pid === undefined ? "" : ` (process ${pid})`}\n`);
      return 0;
    },
  };
}
