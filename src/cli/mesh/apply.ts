import { resolve } from "node:path";
import { errorMessage } from "../../base/coded-error.ts";
import { readInputSync } from "../../files/read-file-sync.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import {
  applyMeshFile,
  applyObjects,
  MeshError,
  type NamedObject,
  parseMeshFile,
  runningState,
  takeBackObjects,
} from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { stateFolderOf, TARGET_FLAGS, targetFolder } from "./target.ts";

const EXIT_NOT_READY = 1;

export const command: Command = {
  name: "apply",
  use: "apply -f FILE",
  short: "Applies a changed mesh file or Istio objects to a running mesh",
  long: `Makes a running mesh as its mesh file says now: new workloads start, changed ones restart one after the other, others end once no workload calls
them any more. Those that have not changed go on as they are. --dry-run only says what would happen.

Given a file with Istio objects instead, applies these. They win over objects of the same name in the mesh file and its folder, and stay
until the mesh ends or --delete takes them back. A file with a mistake changes nothing.`,
  example: `  # After mesh.yaml has been changed
  pilot-agent mesh apply -f mesh.yaml --dry-run
  pilot-agent mesh apply -f mesh.yaml`,
  flags: [
    {
      name: "file",
      short: "f",
      type: "stringArray",
      default: [],
      usage: "The mesh file, or a file with Istio objects, - for standard input; may be repeated for objects",
    },
    { name: "delete", type: "bool", default: false, usage: "Take the objects of the file back" },
    { name: "dry-run", type: "bool", default: false, usage: "Say what would be done, and do nothing" },
    {
      name: "isolation",
      type: "string",
      default: "",
      usage: "Refuse a mesh that runs with another one: it is chosen by mesh up and stays",
    },
    ...TARGET_FLAGS,
  ],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  async run(context) {
    const files = context.flags.stringArray("file");
    if (files.length === 0) throw new Error("-f is missing: the mesh file, or a file with Istio objects");
    const texts = files.map((file) => ({ file, text: readText(file) }));
    const meshFile = texts.find(({ text }) => looksLikeMeshFile(text));
    if (meshFile === undefined) return applyTexts(context, texts);
    if (texts.length > 1) throw new Error(`${meshFile.file} is a mesh file; it is applied alone`);
    if (context.flags.bool("delete")) throw new Error(`${meshFile.file} is a mesh file; mesh down ends a mesh`);
    return applyServices(context, meshFile);
  },
};

interface ReadFile {
  readonly file: string;
  readonly text: string;
}

function readText(file: string): string {
  try {
    return readInputSync(file);
  } catch (thrown) {
    throw new MeshError("invalid-file", errorMessage(thrown));
  }
}

/** Also one with mistakes: they are reported by the parser of the mesh file. */
function looksLikeMeshFile(text: string): boolean {
  return "file" in parseMeshFile(text) || /^services:/m.test(text);
}

/** The mesh that the file names, never another one that happens to run: all of that one would end. */
async function applyServices(context: CommandContext, { file, text }: ReadFile): Promise<number> {
  const { flags, print, printError } = context;
  const parsed = parseMeshFile(text);
  const name = flags.string("name") || ("file" in parsed ? parsed.file.name : "mesh");
  const isDryRun = flags.bool("dry-run");
  const isolation = flags.string("isolation");
  const path = resolve(file === "-" ? "mesh.yaml" : file);
  const request = { text, fileName: file, path, isDryRun, ...(isolation === "" ? {} : { isolation }) };
  const problems = await applyMeshFile(runningState(stateFolderOf(context, name)), request, (level, line) =>
    level === "info" ? print(`${line}\n`) : printError(`${level}: ${line}\n`),
  );
  for (const problem of problems) printError(`error: ${problem}\n`);
  if (problems.length > 0) return EXIT_NOT_READY;
  if (!isDryRun) print(`mesh ${name} is as ${file} says\n`);
  return 0;
}

function applyTexts(context: CommandContext, texts: readonly ReadFile[]): number {
  const { flags, print } = context;
  const folder = targetFolder(context);
  const namespace = runningState(folder).plan?.namespace ?? "default";
  const objects = texts.flatMap((each) => readObjects(each, namespace));
  const isDelete = flags.bool("delete");
  const isDryRun = flags.bool("dry-run");
  const done = isDelete && !isDryRun ? takeBackObjects(folder, objects) : objects;
  if (!isDelete && !isDryRun) applyObjects(folder, objects);
  const word = `${isDryRun ? "would be " : ""}${isDelete ? "taken back" : "applied"}`;
  for (const { kind, namespace: own, name } of done) print(`${kind} ${own}/${name} ${word}\n`);
  return 0;
}

/** All of a file or, with a mistake in it, none. */
function readObjects({ file, text }: ReadFile, defaultNamespace: string): readonly NamedObject[] {
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
