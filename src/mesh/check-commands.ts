import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { problemText } from "./core/parse-mesh-file.ts";
import { MeshError } from "./mesh-error.ts";
import type { StartMeshOptions } from "./start-options.ts";

/** Programs and folders that are missing are reported before anything is started, with their position in the file. */
export function checkCommands(checked: CheckedFile): void {
  const problems = commandProblems(checked);
  if (problems.length > 0) throw new MeshError("command-not-found", problems.join("\n"));
}

type CheckedFile = Pick<StartMeshOptions, "file" | "fileName" | "directory" | "env">;

export function commandProblems({ file, fileName, directory, env }: CheckedFile): readonly string[] {
  return file.services.flatMap(({ name, kind, versions }) =>
    // A gateway is an Envoy alone.
    (kind === "gateway" ? [] : versions).flatMap(({ command, position, directory: own, env: set }) => {
      const folder = resolve(directory, own ?? ".");
      const says = (text: string) => [problemText({ ...position, text: `services.${name}: ${text}` }, fileName)];
      if (!isFolder(folder)) return says(`the directory ${folder} is not there`);
      const [program = ""] = command;
      // The shell alone knows what is in its line; words that are variables are known only later.
      if (typeof command === "string" || program.includes("$(")) return [];
      const obstacle = commandObstacle(program, folder, set.PATH ?? env.PATH ?? "");
      return obstacle === undefined ? [] : says(`the command cannot be run: ${obstacle}`);
    }),
  );
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Why a program could not be executed; undefined when it can. */
export function commandObstacle(program: string, directory: string, path: string): string | undefined {
  const candidates = program.includes("/")
    ? [isAbsolute(program) ? program : resolve(directory, program)]
    : path.split(delimiter).map((folder) => join(folder, program));
  if (candidates.some(isExecutable)) return undefined;
  return program.includes("/") ? `${candidates[0]} is not there or not executable` : `${program} is not on PATH`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
