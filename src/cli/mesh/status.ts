import { wait } from "../../base/wait.ts";
import { askStatus, formatStatus, type MeshState, runningState, type StateFolder } from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { runningTexts } from "./rule-texts.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";
import { noArguments, oneOf } from "./usage-mistake.ts";

const EXIT_NOT_READY = 1;
const WATCH_MS = 1000;

type MeshStatus = Awaited<ReturnType<typeof askStatus>>;

export const command: Command = {
  name: "status",
  use: "status",
  short: "Shows what runs and what does not",
  long: "Shows every workload with its processes. The exit code is 1 when something is not ready or the configuration has a problem.",
  flags: [
    {
      name: "output",
      short: "o",
      type: "string",
      default: "table",
      values: ["table", "json"],
      usage: "Format: table or json",
    },
    { name: "watch", short: "w", type: "bool", default: false, usage: "Go on until Ctrl-C and print what changes" },
    ...TARGET_FLAGS,
  ],
  checkArgs: noArguments,
  async run(context) {
    const output = oneOf("output", context.flags.string("output"), ["table", "json"]);
    const ask = async () => {
      const folder = targetFolder(context);
      const state = runningState(folder);
      return { ...(await askStatus(state)), warnings: await findWarnings(folder, state, context.env) };
    };
    const print = (status: Shown) =>
      output === "json" ? `${JSON.stringify(status, null, 2)}\n` : `${formatStatus(status)}${warningLines(status)}`;
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

interface Shown extends MeshStatus {
  /** Rules that do not do what they seem to. */
  readonly warnings: readonly string[];
}

function warningLines({ warnings, entries, problems }: Shown): string {
  const isFirst = Object.keys(entries).length + problems.length === 0;
  return `${isFirst && warnings.length > 0 ? "\n" : ""}${warnings.map((line) => `warning: ${line}\n`).join("")}`;
}

let reviewed: { readonly key: string; readonly warnings: readonly string[] } | undefined;

/** The rules in force, looked at together with the mesh; again only when something has changed. */
async function findWarnings(
  folder: StateFolder,
  state: MeshState,
  env: CommandContext["env"],
): Promise<readonly string[]> {
  const { texts } = runningTexts(folder, state, env);
  if (texts.length === 0 || state.plan === undefined) return [];
  const key = JSON.stringify([texts, state.plan]);
  if (reviewed?.key !== key) {
    const { reviewRules } = await import("./review.ts");
    const { errors, warnings } = await reviewRules(state.plan, texts);
    reviewed = { key, warnings: [...errors, ...warnings] };
  }
  return reviewed.warnings;
}

function isGood({ controlPlane, workloads, problems }: MeshStatus): boolean {
  return controlPlane.ready && workloads.every(({ ready }) => ready) && problems.length === 0;
}
