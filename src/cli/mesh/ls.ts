import { join } from "node:path";
import {
  abandonedText,
  findAbandoned,
  isAlive,
  knownMeshes,
  type readState,
  stateFolder,
  stateHome,
  table,
} from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { homeOf, stateOf, TARGET_FLAGS } from "./target.ts";
import { noArguments, oneOf } from "./usage-mistake.ts";

interface Row {
  readonly name: string;
  readonly state: "running" | "left over" | "stopped" | "unreadable" | "abandoned";
  readonly workloads: number;
  readonly since: string;
  readonly folder: string;
}

export const command: Command = {
  name: "ls",
  use: "ls",
  short: "Lists the meshes of this machine",
  long: `Lists the meshes that this user has started here, also those that ended. "left over" is a mesh whose mesh up was killed: mesh down
removes what it left, and the next mesh up of that name does so as well. "abandoned" is one whose state folder is gone, too: only the machine
itself knows of it, and mesh down, or the next mesh up, removes what is left. Meshes of other users
are in folders of their own (--state-dir); those that can be seen from here are named.`,
  flags: [
    {
      name: "output",
      short: "o",
      type: "string",
      default: "table",
      values: ["table", "json"],
      usage: "Format: table or json",
    },
    ...TARGET_FLAGS,
  ],
  checkArgs: noArguments,
  async run(context) {
    const output = oneOf("output", context.flags.string("output"), ["table", "json"]);
    const home = homeOf(context);
    const only = context.flags.string("name");
    const names = knownMeshes(home).filter((name) => only === "" || name === only);
    const left = process.getuid?.() === 0 ? await findAbandoned(home) : [];
    const abandoned = left.filter(({ owner }) => only === "" || owner?.name === only);
    const rows = [...names.map((name) => toRow(name, join(home, name))), ...abandoned.map(toAbandonedRow)];
    if (output === "json") context.print(`${JSON.stringify(rows, null, 2)}\n`);
    else if (rows.length === 0) context.print(`no mesh in ${home}; pilot-agent mesh up starts one\n`);
    else {
      const cells = rows.map(({ name, state, workloads, since }) => [name, state, String(workloads), since]);
      context.print(table([["NAME", "STATE", "WORKLOADS", "SINCE"], ...cells]));
    }
    if (output === "table" && abandoned.length > 0) {
      const lines = abandoned.map((run) => `left of ${abandonedText(run)}\n`);
      context.print(`${lines.join("")}pilot-agent mesh down removes it\n`);
    }
    if (output === "table" && !context.flags.changed("state-dir")) context.print(othersText(home));
    return 0;
  },
};

/** Whether those run is in files that only their users can read. */
export function othersText(own: string, homes: readonly string[] = homesOfOthers()): string {
  const lines = homes
    .filter((home) => home !== own)
    .flatMap((home) => {
      const names = knownMeshes(home);
      return names.length === 0 ? [] : [`of another user, in ${home}: ${names.join(", ")}\n`];
    });
  return lines.join("");
}

function homesOfOthers(): readonly string[] {
  const ofRoot = stateHome({ isRoot: true, home: undefined, xdgStateHome: undefined, temporary: "" });
  const users = knownMeshes(HOMES).map((user) => join(HOMES, user));
  return [ofRoot, ...users.map((home) => stateHome({ isRoot: false, home, xdgStateHome: undefined, temporary: "" }))];
}

const HOMES = "/home";

function toRow(name: string, path: string): Row {
  const state = stateOf(path);
  const folder = stateFolder(path).path;
  if (state === undefined) return { name, state: "stopped", workloads: 0, since: "", folder };
  if (state === "unreadable") return { name, state: "unreadable", workloads: 0, since: "", folder };
  return { name, ...lifeOf(state), folder };
}

/** One namespace is the hub's. */
function toAbandonedRow({ owner, traces }: Awaited<ReturnType<typeof findAbandoned>>[number]): Row {
  const workloads = Math.max(0, traces.namespaces.length - 1);
  return { name: owner?.name ?? "(unknown)", state: "abandoned", workloads, since: "", folder: owner?.folder ?? "" };
}

function lifeOf(state: NonNullable<ReturnType<typeof readState>>): Pick<Row, "state" | "workloads" | "since"> {
  return {
    state: isAlive(state.parent) ? "running" : "left over",
    workloads: state.plan?.workloads.length ?? 0,
    since: state.startedAt,
  };
}
