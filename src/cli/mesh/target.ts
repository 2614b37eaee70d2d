import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { readInputSync } from "../../files/read-file-sync.ts";
import {
  isAlive,
  knownMeshes,
  MESH_NAME,
  MeshError,
  type MeshFile,
  parseMeshFile,
  problemText,
  readState,
  type StateFolder,
  stateFolder,
  stateHome,
  surroundings,
} from "../../mesh/index.ts";
import type { CommandContext } from "../framework/command.ts";
import type { CompletionInput, FlagSpec } from "../framework/flags.ts";
import { UsageMistake } from "./usage-mistake.ts";

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
    values: meshNamesIn,
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

function meshNamesIn(input: CompletionInput): readonly string[] {
  return knownMeshes(homeOf(input));
}

export interface LoadedMeshFile {
  readonly file: MeshFile;
  readonly path: string;
  readonly directory: string;
}

/** Throws with every problem, one per line, each with its position. */
export function loadMeshFile(path: string, env: CommandContext["env"]): LoadedMeshFile {
  let text: string;
  try {
    text = readInputSync(path);
  } catch (thrown) {
    const way = "pilot-agent mesh init writes an example, mesh up --demo needs none";
    throw new MeshError("invalid-file", `${path} cannot be read: ${fileProblem(thrown)}; ${way}`);
  }
  const directory = dirname(resolve(path));
  return { file: parseOrThrow(text, path, surroundings(directory, env)), path: resolve(path), directory };
}

/** What the system says about a file, without its path and its codes. */
export function fileProblem(thrown: unknown): string {
  switch (errorCode(thrown)) {
    case "ENOENT":
      return "there is no such file or folder";
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
      return "this user may not";
    case "ENOTDIR":
      return "a part of its path is no folder";
    default:
      return errorMessage(thrown);
  }
}

export function parseOrThrow(text: string, name: string, around?: ReturnType<typeof surroundings>): MeshFile {
  const parsed = parseMeshFile(text, around);
  if ("file" in parsed) return parsed.file;
  throw new MeshError("invalid-file", parsed.problems.map((problem) => problemText(problem, name)).join("\n"));
}

/** A name is one folder below the state's home and nothing else: `..` would make, and clear, folders of others. */
export function stateFolderOf({ flags, env }: Pick<CommandContext, "flags" | "env">, name: string): StateFolder {
  if (!new RegExp(MESH_NAME).test(name)) {
    const allowed = "allowed are at most 40 small letters, digits and dashes, beginning with a letter";
    throw new UsageMistake(`--name is ${JSON.stringify(name)}, ${allowed}`);
  }
  return stateFolder(join(homeOf({ flags, env }), name));
}

/** The mesh that a command other than `up` is about. One that has ended is looked for only where its logs are enough. */
export function targetFolder(
  context: Pick<CommandContext, "flags" | "env">,
  { alsoEnded = false }: { readonly alsoEnded?: boolean } = {},
): StateFolder {
  const named = context.flags.string("name");
  if (named !== "") return stateFolderOf(context, named);
  const home = homeOf(context);
  const states = new Map(knownMeshes(home).map((name) => [name, stateOf(join(home, name))]));
  const isThere = (name: string) => alsoEnded && existsSync(stateFolder(join(home, name)).logs);
  const left = [...states.keys()].filter((name) => states.get(name) !== undefined || isThere(name));
  const local = existsSync("mesh.yaml")
    ? parseMeshFile(readInputSync("mesh.yaml"), surroundings(".", context.env))
    : undefined;
  const running = left.filter((name) => {
    const state = states.get(name);
    return state !== undefined && state !== "unreadable" && isAlive(state.parent);
  });
  if (local !== undefined && "file" in local && left.includes(local.file.name)) {
    // One that has ended does not hide another that runs.
    const { name } = local.file;
    if (states.get(name) !== undefined || running.length === 0) return stateFolder(join(home, name));
  }
  const [only, ...others] = running.length > 0 ? running : left;
  if (only === undefined)
    throw new MeshError("not-running", `no mesh runs (looked in ${home}); pilot-agent mesh up starts one`);
  if (others.length > 0)
    throw new MeshError(
      "not-running",
      `several meshes ${running.length > 0 ? "run" : "are left"}: ${[only, ...others].join(", ")}; choose one with --name`,
    );
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
  return given === "" ? defaultHome(env, process.getuid?.() === 0) : resolve(given);
}

/** Where the state is by default. */
export function defaultHome(env: CommandContext["env"], isRoot: boolean): string {
  return stateHome({ isRoot, home: env.HOME, xdgStateHome: env.XDG_STATE_HOME, temporary: tmpdir() });
}
