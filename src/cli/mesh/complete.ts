import { isAlive, type MeshState, readServices, workloadNames } from "../../mesh/index.ts";
import type { CompletionInput } from "../framework/flags.ts";
import { loadMeshFile, stateOf, targetFolder } from "./target.ts";

/** What completion knows of meshes; it offers nothing rather than an error. */

export const workloadsOf = quietly((input) => stateFor(input).plan?.workloads.map(({ name }) => name) ?? []);

/** One argument, and no more than that. */
export function first(
  complete: (input: CompletionInput) => readonly string[],
): (input: CompletionInput) => readonly string[] {
  return (input) => (input.args.length === 0 ? complete(input) : []);
}

export const partsOf = quietly((input) => [
  "control-plane",
  ...workloadsOf(input).flatMap((name) => [`${name}/app`, `${name}/agent`]),
]);

export const logNames = quietly((input) => {
  const services = Object.entries(readServices(targetFolder(input, { alsoEnded: true }).logs));
  const workloads = services.flatMap(([, names]) => names);
  const parts = workloads.flatMap((name) => [`${name}/app`, `${name}/agent`]);
  return ["control-plane", ...services.map(([name]) => name), ...workloads, ...parts];
});

/** Of the mesh file that `mesh up` would start. */
export const namesInFile = quietly(({ flags, env }) =>
  workloadNames(loadMeshFile(flags.string("file"), env).file).flatMap(({ name, service }) => [service, name]),
);

function stateFor(input: CompletionInput): MeshState {
  const state = stateOf(targetFolder(input).path);
  if (state === undefined || state === "unreadable" || !isAlive(state.parent)) throw new Error("it does not run");
  return state;
}

function quietly(find: (input: CompletionInput) => readonly string[]): (input: CompletionInput) => readonly string[] {
  return (input) => {
    try {
      return find(input);
    } catch {
      return [];
    }
  };
}
