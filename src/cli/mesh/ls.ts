import { join } from "node:path";
import { isAlive, knownMeshes, type readState, stateFolder, table } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { homeOf, stateOf, TARGET_FLAGS } from "./target.ts";

interface Row {
  readonly name: string;
  readonly state: "running" | "left over" | "stopped" | "unreadable";
  readonly workloads: number;
  readonly since: string;
  readonly folder: string;
}

export const command: Command = {
  name: "ls",
  use: "ls",
  short: "Lists the meshes of this machine",
  long: `Lists the meshes that this user has started here, also those that ended. "left over" is a mesh whose mesh up was killed: mesh down
removes what it left, and the next mesh up of that name does so as well. Meshes of other users are in folders of their own (--state-dir).`,
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
    const home = homeOf(context);
    const only = context.flags.string("name");
    const names = knownMeshes(home).filter((name) => only === "" || name === only);
    const rows = names.map((name) => toRow(name, join(home, name)));
    if (output === "json") context.print(`${JSON.stringify(rows, null, 2)}\n`);
    else if (rows.length === 0) context.print(`no mesh in ${home}; pilot-agent mesh up starts one\n`);
    else {
      const cells = rows.map(({ name, state, workloads, since }) => [name, state, String(workloads), since]);
      context.print(table([["NAME", "STATE", "WORKLOADS", "SINCE"], ...cells]));
    }
    return 0;
  },
};

function toRow(name: string, path: string): Row {
  const state = stateOf(path);
  const folder = stateFolder(path).path;
  if (state === undefined) return { name, state: "stopped", workloads: 0, since: "", folder };
  if (state === "unreadable") return { name, state: "unreadable", workloads: 0, since: "", folder };
  return { name, ...lifeOf(state), folder };
}

function lifeOf(state: NonNullable<ReturnType<typeof readState>>): Pick<Row, "state" | "workloads" | "since"> {
  return {
    state: isAlive(state.parent) ? "running" : "left over",
    workloads: state.plan?.workloads.length ?? 0,
    since: state.startedAt,
  };
}
