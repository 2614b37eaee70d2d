import type { Finding, Level, Suppression } from "../../analyze/index.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import { parseMeshLayers } from "../../mesh-model/build-mesh-settings.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { FlagSpec } from "../framework/flags.ts";
import { type AnalyzeInput, documentOf, over, readCluster, readFiles, withMesh } from "./analyze-input.ts";

/** As istioctl: 65 for a file that cannot be read, 79 for findings at or above --failure-threshold. */
const EXIT = { usage: 2, data: 65, found: 79 } as const;
const LEVELS: readonly Level[] = ["Info", "Warning", "Error"];
const FORMATS = ["log", "json", "yaml"];

function flag(name: string, usage: string, more: Partial<FlagSpec> = {}): FlagSpec {
  return { name, type: "string", default: "", usage, ...more } as FlagSpec;
}

export const command: Command = {
  name: "analyze",
  use: "analyze [FILE|DIR ...] [--config DIR] [--kube]",
  short: "Finds mistakes in rules, services and workloads before they hurt",
  long: `Reads Istio and Kubernetes objects from files, from a cluster, or both (files then count before the cluster's objects of the same
name), makes the mesh of them that the control plane would make, and asks it: hosts, ports and subsets that do not exist, routes that are
never used, gateways that do not fit, policies that reach nothing or refuse everybody, and more. Codes and names of messages are istioctl's.

Exit code 0: nothing at or above --failure-threshold; 79: something is; 65: a file could not be read; 2: wrong use.`,
  example: `  # A folder of manifests, in CI
  pilot-agent analyze --config ./manifests

  # What would these files do in the cluster that kubectl talks to?
  pilot-agent analyze --kube rules.yaml

  # Without one message for one object, or for all of a kind
  pilot-agent analyze --config . --suppress "IST0103=Pod web.prod" --suppress "IST0118=Service *"

  # For machines
  pilot-agent analyze --config . -o json`,
  flags: [
    flag("config", "File or folder of objects, with its sub-folders; may be repeated", {
      type: "stringArray",
      default: [],
    }),
    flag("kube", "Read the cluster's objects, too", { type: "bool", default: false, short: "k" }),
    flag("use-kube", "The same as --kube, as istioctl has it", { type: "bool", default: false, hidden: true }),
    flag("kubeconfig", "Kubernetes configuration file (default KUBECONFIG, ~/.kube/config)"),
    flag("context", "Context of the Kubernetes configuration"),
    flag("namespace", "Namespace of objects that name none, and the one to report on", { short: "n" }),
    flag("all-namespaces", "Report on all namespaces of a cluster", { type: "bool", default: false, short: "A" }),
    flag("meshConfigFile", "Mesh configuration in YAML, over the built-in one"),
    flag("suppress", "CODE=KIND NAME.NAMESPACE, with * for any text; may be repeated", {
      type: "stringArray",
      default: [],
      short: "S",
    }),
    flag("failure-threshold", "Exit with 79 from this level on: Info, Warning, Error", { default: "Error" }),
    flag("output-threshold", "Print from this level on: Info, Warning, Error", { default: "Info" }),
    flag("output", "log, json or yaml", { short: "o", default: "log" }),
    flag("list-analyzers", "Print what is looked for, and nothing else", { type: "bool", default: false, short: "L" }),
  ],
  run: (context) => runAnalyze(context),
};

async function runAnalyze(context: CommandContext): Promise<number> {
  const { flags, print, printError } = context;
  const rooms = await import("../../analyze/index.ts");
  if (flags.bool("list-analyzers")) {
    for (const { name, description } of rooms.ANALYZERS) print(`* ${name}:\n    ${description}\n`);
    return 0;
  }
  const options = readOptions(context);
  if (typeof options === "string") {
    printError(`Error: ${options}\n`);
    return EXIT.usage;
  }
  const { snapshotOfObjects } = await import("../../discovery/index.ts");
  try {
    const input = await readInput(context);
    const { settings, problem } = await parseMeshLayers(input.meshLayers);
    if (problem !== undefined) throw new Error(problem);
    const objects = input.hasCluster ? input.objects : rooms.withDefaultGateway(input.objects, settings.rootNamespace);
    const snapshot = snapshotOfObjects(objects.map(documentOf), settings, {
      decoded: objects.map(({ decoded }) => decoded),
    });
    const mesh = rooms.createAnalyzedMesh({ objects, settings, snapshot, now: Date.now() });
    const found = rooms.analyze(mesh, { suppress: options.suppress }).filter(({ object }) => options.reportsOn(object));
    const shown = found.filter(({ level }) => rank(level) >= rank(options.shown));
    print(printed(shown, options.format));
    for (const { file, line, message } of input.unreadable) printError(`Error: ${file}:${line}: ${message}\n`);
    if (input.unreadable.length > 0) return EXIT.data;
    if (options.format === "log") printError(summary(found, input.objects.length, options.failing));
    return found.some(({ level }) => rank(level) >= rank(options.failing)) ? EXIT.found : 0;
  } catch (failure) {
    printError(`Error: ${errorMessage(failure)}\n`);
    return EXIT.data;
  }
}

async function readInput(context: CommandContext): Promise<AnalyzeInput> {
  const { flags, args } = context;
  const files = await readFiles([...args, ...flags.stringArray("config")], flags.string("namespace") || "default");
  if (!flags.bool("kube") && !flags.bool("use-kube")) return withMesh(files, flags.string("meshConfigFile"));
  return withMesh(over(await readCluster(context), files), flags.string("meshConfigFile"));
}

interface AnalyzeOptions {
  readonly suppress: readonly Suppression[];
  readonly failing: Level;
  readonly shown: Level;
  readonly format: string;
  reportsOn(object: Finding["object"]): boolean;
}

/** The text says what is wrong. */
function readOptions({ flags, args }: CommandContext): AnalyzeOptions | string {
  const hasCluster = flags.bool("kube") || flags.bool("use-kube");
  if (args.length + flags.stringArray("config").length === 0 && !hasCluster) {
    return "nothing to analyze: give files or folders, or --kube for a cluster";
  }
  const level = (name: string) => LEVELS.find((one) => one.toLowerCase() === flags.string(name).toLowerCase());
  const [failing, shown] = [level("failure-threshold"), level("output-threshold")];
  for (const name of ["failure-threshold", "output-threshold"]) {
    if (level(name) === undefined)
      return `--${name} is ${JSON.stringify(flags.string(name))}, allowed: ${LEVELS.join(", ")}`;
  }
  const format = flags.string("output");
  if (!FORMATS.includes(format)) return `--output is ${JSON.stringify(format)}, allowed: ${FORMATS.join(", ")}`;
  const suppress: Suppression[] = [];
  for (const entry of flags.stringArray("suppress")) {
    const [, code, object] = /^([A-Z]+\d+)=(\S+ .+)$/.exec(entry) ?? [];
    if (code === undefined || object === undefined) {
      return `--suppress is ${JSON.stringify(entry)}, expected CODE=KIND NAME.NAMESPACE, for example IST0103=Pod web.prod`;
    }
    suppress.push({ code, object: wildcard(object) });
  }
  const only = hasCluster && !flags.bool("all-namespaces") ? flags.string("namespace") : "";
  return {
    suppress,
    failing: failing ?? "Error",
    shown: shown ?? "Info",
    format,
    reportsOn: ({ kind, namespace, name }) =>
      only === "" || namespace === only || (kind === "Namespace" && name === only),
  };
}

function wildcard(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

function rank(level: Level): number {
  return LEVELS.indexOf(level);
}

function printed(findings: readonly Finding[], format: string): string {
  if (format === "json") return `${JSON.stringify(findings.map(toMessage), undefined, 2)}\n`;
  if (format === "yaml") return printYaml(findings.map(toMessage));
  return findings.map((one) => `${logLine(one)}\n`).join("");
}

/** `Error [IST0101] (VirtualService prod/web mesh.yaml:12) host not found: "x"`. */
function logLine({ level, code, object, position, message }: Finding): string {
  const where = position === undefined ? "" : ` ${position.file}:${position.line}`;
  return `${level} [${code}] (${title(object)}${where}) ${message}`;
}

function title({ kind, namespace, name }: Finding["object"]): string {
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/** The members that istioctl prints. */
function toMessage({ code, name, level, object, position, message }: Finding): Readonly<Record<string, string>> {
  return {
    code,
    name,
    level,
    origin: title(object),
    message,
    ...(position && { reference: `${position.file}:${position.line}` }),
  };
}

function summary(found: readonly Finding[], objects: number, failing: Level): string {
  const count = (level: Level) => found.filter((one) => one.level === level).length;
  const size = `${objects} ${objects === 1 ? "object" : "objects"}`;
  if (found.length === 0) return `No findings in ${size}.\n`;
  const parts = LEVELS.toReversed().map((level) => `${count(level)} ${level.toLowerCase()}`);
  return `${size}: ${parts.join(", ")}; fails from ${failing.toLowerCase()} on.\n`;
}
