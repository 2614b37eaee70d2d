import { spawn } from "node:child_process";
import { errorMessage } from "../base/coded-error.ts";
import { appProcessEnvironment, runningState } from "../mesh/index.ts";
import type { Command } from "./command.ts";
import { TARGET_FLAGS, targetFolder } from "./mesh-target.ts";

const EXIT_NOT_STARTED = 127;

export const command: Command = {
  name: "exec",
  use: "exec workload -- command [args...]",
  short: "Runs a command where a workload runs",
  long: "Runs a command with the environment of a workload's application and, where there are namespaces, in its network.",
  example: `  # Call the catalogue as the front does
  pilot-agent mesh exec front -- sh -c 'curl -s $CATALOGUE_URL'`,
  flags: TARGET_FLAGS,
  checkArgs: (args) => (args.length < 2 ? "needs a workload and, after --, a command" : undefined),
  async run(context) {
    const [name = "", ...command] = context.args;
    const { plan, runId, program } = runningState(targetFolder(context));
    const workload = plan?.workloads.find((each) => each.name === name);
    if (plan === undefined || workload === undefined) {
      throw new Error(`there is no workload ${name}; there are ${plan?.workloads.map((each) => each.name).join(", ")}`);
    }
    const inside = workload.netns === undefined ? [] : ["ip", "netns", "exec", workload.netns];
    const env = appProcessEnvironment({ plan, runId, own: program, env: context.env }, workload);
    return execute([...inside, ...command], env, context.printError);
  },
};

/** Ctrl-C reaches the command by itself, as it is in the same group. */
function execute(
  words: readonly string[],
  env: Record<string, string>,
  printError: (text: string) => void,
): Promise<number> {
  const [program = "", ...args] = words;
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: "inherit" });
    child.once("error", (thrown) => {
      printError(`Error: ${errorMessage(thrown)}\n`);
      resolve(EXIT_NOT_STARTED);
    });
    child.once("exit", (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
  });
}
