import { readFileSync } from "node:fs";
import { errorMessage } from "../base/coded-error.ts";
import { parseConfigText } from "../discovery/index.ts";
import {
  applyObjects,
  MeshError,
  type NamedObject,
  parseMeshFile,
  runningState,
  takeBackObjects,
} from "../mesh/index.ts";
import type { Command } from "./command.ts";
import { TARGET_FLAGS, targetFolder } from "./mesh-target.ts";

export const command: Command = {
  name: "apply",
  use: "apply -f FILE",
  short: "Applies Istio objects to a running mesh",
  long: `Applies the Istio objects of a YAML file to a running mesh. They win over objects of the same name in the mesh file and its folder, and
stay until the mesh ends or --delete takes them back. A file with a mistake changes nothing.`,
  flags: [
    {
      name: "file",
      short: "f",
      type: "stringArray",
      default: [],
      usage: "File with Istio objects, - for standard input; may be repeated",
    },
    { name: "delete", type: "bool", default: false, usage: "Take the objects of the file back" },
    ...TARGET_FLAGS,
  ],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  async run(context) {
    const { flags, print } = context;
    const files = flags.stringArray("file");
    if (files.length === 0) throw new Error("-f is missing: the file with the Istio objects");
    const folder = targetFolder(context);
    const { plan } = runningState(folder);
    const objects = files.flatMap((file) => readObjects(file, plan?.namespace ?? "default"));
    const done = flags.bool("delete") ? takeBackObjects(folder, objects) : objects;
    if (!flags.bool("delete")) applyObjects(folder, objects);
    const word = flags.bool("delete") ? "taken back" : "applied";
    for (const { kind, namespace, name } of done) print(`${kind} ${namespace}/${name} ${word}\n`);
    return 0;
  },
};

/** All of a file or, with a mistake in it, none. */
function readObjects(file: string, defaultNamespace: string): readonly NamedObject[] {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (thrown) {
    throw new MeshError("invalid-file", errorMessage(thrown));
  }
  if ("file" in parseMeshFile(text)) {
    throw new MeshError(
      "invalid-file",
      `${file} is a mesh file; its services are taken over by mesh down and mesh up, its objects as it is saved`,
    );
  }
  const { objects, problems } = parseConfigText(text, { file, defaultNamespace });
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    const lines = errors.map(
      ({ line, column, field, message }) => `${file}:${line}:${column}: ${field}${field && ": "}${message}`,
    );
    throw new MeshError("invalid-file", lines.join("\n"));
  }
  if (objects.length === 0) throw new MeshError("invalid-file", `${file} holds no Istio object`);
  return objects.map(({ kind, namespace, name, source }) => {
    const document = { ...source, metadata: { ...(source.metadata as object), namespace } };
    return { kind, namespace, name, text: `${JSON.stringify(document, null, 1)}\n` };
  });
}
