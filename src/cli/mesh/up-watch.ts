import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type StartMeshOptions, workloadNames } from "../../mesh/index.ts";
import type { FlagSpec, FlagValues } from "../framework/flags.ts";
import { namesInFile } from "./complete.ts";
import type { LoadedMeshFile } from "./target.ts";
import { UsageMistake } from "./usage-mistake.ts";

export const WATCH_FLAGS: readonly FlagSpec[] = [
  {
    name: "watch",
    type: "bool",
    default: false,
    usage: "Apply the mesh file whenever it changes, as mesh apply does; with a mistake in it the mesh stays as it is",
  },
  {
    name: "watch-app",
    type: "stringArray",
    default: [],
    values: namesInFile,
    usage:
      "Restart the application of this service or workload when a file of its directory changes, or of NAME=PATH; may be repeated",
  },
];

/** What `mesh up` follows beside the rules, which it always does. */
export function readWatches(
  flags: FlagValues,
  loaded: LoadedMeshFile,
): Pick<StartMeshOptions, "appliesChanges" | "appFiles"> {
  if (flags.bool("watch") && loaded.path === "")
    throw new UsageMistake("--watch and --demo exclude each other: there is no file that could change");
  const appFiles = flags.stringArray("watch-app").map((text) => readAppFiles(text, loaded));
  return {
    ...(flags.bool("watch") ? { appliesChanges: true } : {}),
    ...(appFiles.length > 0 ? { appFiles } : {}),
  };
}

function readAppFiles(text: string, { file, directory }: LoadedMeshFile) {
  const at = text.indexOf("=");
  const name = at === -1 ? text : text.slice(0, at);
  const known = workloadNames(file);
  const service = known.find((each) => each.name === name || each.service === name)?.service;
  const spec = file.services.find((each) => each.name === service);
  if (spec === undefined) {
    const names = [...new Set(known.flatMap((each) => [each.service, each.name]))];
    throw new UsageMistake(`--watch-app is ${JSON.stringify(text)}; there are ${names.join(", ")}`);
  }
  // Those of a service run the same code; where versions have directories of their own, each is a change for all.
  const own = spec.versions.map((version) => resolve(directory, version.directory ?? "."));
  const paths = at === -1 ? [...new Set(own)] : [resolve(text.slice(at + 1))];
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) throw new UsageMistake(`--watch-app is ${JSON.stringify(text)}; ${missing} is not there`);
  return { name, paths };
}
