import { dirname, resolve } from "node:path";
import { readInputSync } from "../../files/read-file-sync.ts";
import { locateYaml } from "../../files/yaml/locate-yaml.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import { parseConfigText, readDocument } from "../../istio-api/decode/parse-config-text.ts";
import {
  applyMeshFile,
  MeshError,
  type MeshPlan,
  type MeshState,
  type NamedObject,
  type ObjectAnswer,
  type ObjectRequest,
  parseMeshFile,
  runningState,
  sendObjects,
  surroundings,
} from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { RuleText } from "./review.ts";
import { runningTexts } from "./rule-texts.ts";
import { fileProblem, stateFolderOf, TARGET_FLAGS, targetFolder } from "./target.ts";
import { noArguments, UsageMistake } from "./usage-mistake.ts";

const EXIT_NOT_READY = 1;
/** After the control plane was away, proxies take up to half a minute to come back to it. */
const PATIENCE_MS = 12_000;

export const command: Command = {
  name: "apply",
  use: "apply -f FILE",
  short: "Applies a changed mesh file or Istio objects to a running mesh",
  long: `Makes a running mesh as its mesh file says now: new workloads start, changed ones restart one after the other, others end once no workload calls
them any more. Those that have not changed go on as they are. --dry-run only says what would happen.

Given a file with Istio objects instead, applies these and waits until every proxy has acknowledged what follows from them; the exit code is
1, with who has not and why, when one refuses. They win over objects of the same name in the mesh file and its folder, and stay
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
      values: ["namespaces", "none"],
      usage: "Refuse a mesh that runs with another one: it is chosen by mesh up and stays",
    },
    ...TARGET_FLAGS,
  ],
  checkArgs: noArguments,
  async run(context) {
    const files = context.flags.stringArray("file");
    if (files.length === 0) throw new UsageMistake("-f is missing: the mesh file, or a file with Istio objects");
    const texts = files.map((file) => ({ file, text: readText(file) }));
    const meshFile = texts.find(({ text }) => looksLikeMeshFile(text));
    if (meshFile === undefined) return applyTexts(context, texts);
    if (texts.length > 1) throw new UsageMistake(`${meshFile.file} is a mesh file; it is applied alone`);
    if (context.flags.bool("delete")) throw new UsageMistake(`${meshFile.file} is a mesh file; mesh down ends a mesh`);
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
    throw new MeshError("invalid-file", `${file} cannot be read: ${fileProblem(thrown)}`);
  }
}

/** Also one with mistakes: they are reported by the parser of the mesh file. */
function looksLikeMeshFile(text: string): boolean {
  return "file" in parseMeshFile(text) || /^(services|import):/m.test(text);
}

/** The mesh that the file names, never another one that happens to run: all of that one would end. */
async function applyServices(context: CommandContext, { file, text }: ReadFile): Promise<number> {
  const { flags, print, printError } = context;
  const path = resolve(file === "-" ? "mesh.yaml" : file);
  const parsed = parseMeshFile(text, surroundings(dirname(path), context.env));
  const name = flags.string("name") || ("file" in parsed ? parsed.file.name : "mesh");
  const isDryRun = flags.bool("dry-run");
  const isolation = flags.string("isolation");
  const request = {
    text,
    fileName: file,
    path,
    isDryRun,
    variables: context.env,
    ...(isolation === "" ? {} : { isolation }),
  };
  const problems = await applyMeshFile(runningState(stateFolderOf(context, name)), request, (level, line) =>
    level === "info" ? print(`${line}\n`) : printError(`${level}: ${line}\n`),
  );
  for (const problem of problems) printError(`error: ${problem}\n`);
  if (problems.length > 0) return EXIT_NOT_READY;
  if (!isDryRun) print(`mesh ${name} is as ${file} says\n`);
  return 0;
}

async function applyTexts(context: CommandContext, texts: readonly ReadFile[]): Promise<number> {
  const { flags, print, printError } = context;
  const folder = targetFolder(context);
  const state = runningState(folder);
  const namespace = state.plan?.namespace ?? "default";
  const isDelete = flags.bool("delete");
  const isDryRun = flags.bool("dry-run");
  // First: of a file without any object it says why, a kind that is written wrong for example.
  if (!isDelete && state.plan !== undefined)
    await review(context, texts, runningTexts(folder, state, context.env).texts, state.plan);
  const objects = texts.flatMap((each) => readObjects(each, namespace));
  const { done, problems } = isDryRun
    ? { done: objects, problems: [] }
    : await sendPatiently(state, { objects, isDelete }, printError);
  const word = `${isDryRun ? "would be " : ""}${isDelete ? "taken back" : "applied"}`;
  for (const { kind, namespace: own, name } of done) print(`${kind} ${own}/${name} ${word}\n`);
  for (const problem of problems) printError(`error: ${problem}\n`);
  return problems.length === 0 ? 0 : EXIT_NOT_READY;
}

async function sendPatiently(
  state: MeshState,
  request: ObjectRequest,
  say: (text: string) => void,
): Promise<ObjectAnswer> {
  const late = setTimeout(() => say("waiting until every proxy has acknowledged it\n"), PATIENCE_MS);
  try {
    return await sendObjects(state, request);
  } finally {
    clearTimeout(late);
  }
}

/** What the new objects will not do is said; what would do harm is refused. Those that are there already count, and are not reported. */
async function review(
  { printError }: CommandContext,
  texts: readonly ReadFile[],
  others: readonly RuleText[],
  plan: MeshPlan,
): Promise<void> {
  const { reviewRules } = await import("./review.ts");
  const files = new Set(texts.map(({ file }) => `${file}:`));
  const isNew = (line: string) => [...files].some((file) => line.startsWith(file));
  const { errors, warnings } = await reviewRules(plan, [...others, ...texts]);
  const { validateConfig } = await import("./validator.ts");
  const refused = texts.flatMap(({ file, text }) =>
    validateConfig(text, plan).map(({ line, column, text: what }) => ({ where: `${file}:${line}:${column}`, what })),
  );
  // What it is refused for is said once, as the error.
  const isRefused = (line: string) => refused.some(({ what }) => line.endsWith(`: ${what}`));
  for (const line of [...errors, ...warnings].filter((each) => isNew(each) && !isRefused(each)))
    printError(`warning: ${line}\n`);
  if (refused.length > 0)
    throw new MeshError("invalid-file", refused.map(({ where, what }) => `${where}: ${what}`).join("\n"));
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
  const found = [...objects, ...readSecrets(text, defaultNamespace)];
  if (found.length === 0) throw new MeshError("invalid-file", `${file} holds no Istio object`);
  return found.map(({ kind, namespace, name, source }) => {
    const document = { ...source, metadata: { ...(source.metadata as object), namespace } };
    return { kind, namespace, name, text: `${JSON.stringify(document, null, 1)}\n` };
  });
}

/** Keys and certificates of gateways, which are not rules: the decoder holds them apart. */
function readSecrets(text: string, defaultNamespace: string) {
  return splitDocuments(text).flatMap(({ text: own }) => {
    const { credential } = readDocument(own, { defaultNamespace });
    const yaml = locateYaml(own);
    if (credential === undefined || "problem" in yaml) return [];
    const { namespace, name } = credential;
    return [{ kind: "Secret", namespace, name, source: yaml.data as Readonly<Record<string, unknown>> }];
  });
}
