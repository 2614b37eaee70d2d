import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** Why a program could not be executed; undefined when it can. */
export function commandObstacle(program: string, directory: string, path: string): string | undefined {
  const places = program.includes("/")
    ? [isAbsolute(program) ? program : resolve(directory, program)]
    : path.split(delimiter).map((folder) => join(folder, program));
  if (places.some(isExecutable)) return undefined;
  return program.includes("/") ? `${places[0]} is not there or not executable` : `${program} is not on PATH`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
