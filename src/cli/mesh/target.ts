import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { errorMessage } from "../../base/coded-error.ts";
import { readInputSync } from "../../files/read-file-sync.ts";
import {
  isAlive,
  knownMeshes,
  MESH_NAME,
  MeshError,
  type MeshFile,
  parseMeshFile,
  readState,
  type StateFolder,
  stateFolder,
  stateHome,
} from "../../mesh/index.ts";
import type { CommandContext } from "../framework/command.ts";
import type { FlagSpec } from "../framework/flags.ts";

export const FILE_FLAG: FlagSpec = {
  name: "file",
  short: "f",
  type: "string",
  default: "mesh.yaml",
  usage: "The mesh file",
};

/** Flags that say which mesh of this machine is meant. */
export const TARGET_FLAGS: readonly FlagSpec[] = [
  {
    name: "name",
    type: "string",
    default: "",
    usage: "Name of the mesh; by default the one of ./mesh.yaml, or the only one that runs",
  },
  {
    name: "state-dir",
    type: "string",
    default: "",
    env: ["PILOT_AGENT_MESH_DIR"],
    usage:
      "Folder that holds the state of meshes; /var/lib/pilot-agent/mesh for root, ~/.local/state/pilot-agent/mesh for others",
  },
];

export interface LoadedMeshFile {
  readonly file: MeshFile;
  readonly path: string;
  readonly directory: string;
}

/** Throws with every problem, one per line, each with its position. */
export function loadMeshFile(path: string): LoadedMeshFile {
  let text: string;
  try {
    text = readInputSync(path);
  } catch (thrown) {
    throw new MeshError(
      "invalid-file",
      `${errorMessage(thrown)}; pilot-agent mesh init writes an example, mesh up --demo needs none`,
    );
  }
  return { file: parseOrThrow(text, path), path: resolve(path), directory: dirname(resolve(path)) };
}

export function parseOrThrow(text: string, name: string): MeshFile {
  const parsed = parseMeshFile(text);
  if ("file" in parsed) return parsed.file;
  const lines = parsed.problems.map((problem) => `${name}:${problem.line}:${problem.column}: ${problem.text}`);
  throw new MeshError("invalid-file", lines.join("\n"));
}

/** A name is one folder below the state's home and nothing else: `..` would make, and clear, folders of others. */
export function stateFolderOf({ flags, env }: Pick<CommandContext, "flags" | "env">, name: string): StateFolder {
  if (!new RegExp(MESH_NAME).test(name))
    throw new MeshError("invalid-file", `--name is ${JSON.stringify(name)}, which does not match ${MESH_NAME}`);
  return stateFolder(join(homeOf({ flags, env }), name));
}

/** The mesh that a command other than `up` is about. */
export function targetFolder(context: Pick<CommandContext, "flags" | "env">): StateFolder {
  const named = context.flags.string("name");
  if (named !== "") return stateFolderOf(context, named);
  const home = homeOf(context);
  const states = new Map(knownMeshes(home).map((name) => [name, stateOf(join(home, name))]));
  const left = [...states.keys()].filter((name) => states.get(name) !== undefined);
  const local = existsSync("mesh.yaml") ? parseMeshFile(readInputSync("mesh.yaml")) : undefined;
  if (local !== undefined && "file" in local && left.includes(local.file.name))
    return stateFolder(join(home, local.file.name));
  const running = left.filter((name) => {
    const state = states.get(name);
    return state !== undefined && state !== "unreadable" && isAlive(state.parent);
  });
  const [only, ...others] = running.length > 0 ? running : left;
  if (only === undefined)
    throw new MeshError("not-running", `no mesh runs (looked in ${home}); pilot-agent mesh up starts one`);
  if (others.length > 0)
    throw new MeshError("not-running", `several meshes run: ${[only, ...others].join(", ")}; choose one with --name`);
  return stateFolder(join(home, only));
}

/** An unreadable file is reported when its mesh is meant; it does not hide the others. */
export function stateOf(path: string): ReturnType<typeof readState> | "unreadable" {
  try {
    return readState(stateFolder(path).stateFile);
  } catch {
    return "unreadable";
  }
}

export function homeOf({ flags, env }: Pick<CommandContext, "flags" | "env">): string {
  const given = flags.string("state-dir");
  if (given !== "") return resolve(given);
  return stateHome({
    isRoot: process.getuid?.() === 0,
    home: env.HOME,
    xdgStateHome: env.XDG_STATE_HOME,
    temporary: tmpdir(),
  });
}
