import { constants } from "node:os";
import { errorMessage } from "../../base/coded-error.ts";
import { appProcessEnvironment, type MeshPlan, runningState } from "../../mesh/index.ts";
import { type ChildProcess, spawnProgram } from "../../process/spawn-program.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { first, workloadsOf } from "./complete.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";

const EXIT_NOT_STARTED = 127;

export const command: Command = {
  name: "exec",
  use: "exec workload -- command [args...]",
  short: "Runs a command where a workload runs",
  long: "Runs a command with the environment of a workload's application and, where there are namespaces, in its network.",
  example: `  # Call the catalogue as the front does
  pilot-agent mesh exec front -- sh -c 'curl -s $CATALOGUE_URL'`,
  flags: TARGET_FLAGS,
  completeArgs: first(workloadsOf),
  checkArgs: (args) => (args.length < 2 ? "needs a workload and, after --, a command" : undefined),
  async run(context) {
    const [name = "", ...command] = context.args;
    const { plan, runId, program, processes } = runningState(targetFolder(context));
    const workload = plan?.workloads.find((each) => each.name === name);
    if (plan === undefined || workload === undefined) {
      throw new Error(`there is no workload ${name}; there are ${plan?.workloads.map((each) => each.name).join(", ")}`);
    }
    const pid = (processes[`${name}/app`] ?? processes[`${name}/agent`])?.pid;
    const inside = insideWords(plan, workload, pid);
    const env = appProcessEnvironment({ plan, runId, own: program, env: context.env }, workload);
    return execute([...inside, ...command], env, context);
  },
};

/** Into the namespaces of an ordinary user the way leads through a process that is there. */
function insideWords({ network }: MeshPlan, { name, netns }: MeshPlan["workloads"][number], pid: number | undefined) {
  if (netns === undefined) return [];
  if (network?.rootless !== true) return ["ip", "netns", "exec", netns];
  if (pid === undefined) throw new Error(`nothing of ${name} runs`);
  const all = ["--user", "--net", "--mount", "--preserve-credentials", `--wd=${process.cwd()}`];
  return ["nsenter", "--target", String(pid), ...all, "--"];
}

/** Ctrl-C reaches the command by itself, as it is in the same group; other signals are passed on. Its exit is ours. */
function execute(
  words: readonly string[],
  env: Record<string, string>,
  { onSignal, printError }: Pick<CommandContext, "onSignal" | "printError">,
): Promise<number> {
  const [program = "", ...args] = words;
  return new Promise((resolve) => {
    let child: ChildProcess | undefined;
    // Before there is a child: a signal that came first would end us alone and leave it behind.
    onSignal((name) => void (name === "SIGINT" || child?.kill(name)));
    child = spawnProgram(program, args, { env, stdio: "inherit" });
    child.once("error", (thrown) => {
      printError(`Error: ${errorMessage(thrown)}\n`);
      resolve(EXIT_NOT_STARTED);
    });
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
