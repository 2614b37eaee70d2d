import { errorMessage } from "../../base/coded-error.ts";
import type { ExplainedResource, ResourceChange } from "../../discovery/index.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import { parseMeshLayers } from "../../mesh-model/build-mesh-settings.ts";
import { parseNode, type XdsNode } from "../../mesh-model/proxy/parse-node.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { FlagSpec } from "../framework/flags.ts";
import { type AnalyzeInput, documentOf, over, readCluster, readFiles, withMesh } from "./analyze-input.ts";
import { readResourceFiles } from "./resource-files.ts";

const FORMATS = ["text", "json", "yaml"];

function flag(name: string, usage: string, more: Partial<FlagSpec> = {}): FlagSpec {
  return { name, type: "string", default: "", usage, ...more } as FlagSpec;
}

export const command: Command = {
  name: "explain",
  use: "discovery explain --config DIR [--node FILE | --workload NAMESPACE/POD] [--diff DIR]",
  short: "Shows what proxies would be sent, without running one",
  long: `Makes the mesh of the objects in files (or of a cluster, --kube) and prints what a proxy would be sent: a list of resources, or one of
them whole. With --diff, what would change for every proxy if the objects of the other folder were in force instead.

The proxy is a pod of the objects (--workload), the node of a discovery request as a file (--node; an agent's /debug/xdsz shows one), or,
with --diff and neither, every pod that has an address.`,
  example: `  # What is sent to a pod
  pilot-agent discovery explain --config ./manifests --workload prod/web-1

  # One resource whole
  pilot-agent discovery explain --config ./manifests --workload prod/web-1 --type cds --name 'outbound|80||api.prod.svc.cluster.local'

  # What would a change do?
  pilot-agent discovery explain --config ./now --diff ./next`,
  flags: [
    flag("config", "File or folder of objects, with its sub-folders; may be repeated", {
      type: "stringArray",
      default: [],
    }),
    flag("diff", "File or folder of objects that would be in force instead"),
    flag("kube", "Read the cluster's objects; with --diff these objects are put over them", {
      type: "bool",
      default: false,
      short: "k",
    }),
    flag("kubeconfig", "Kubernetes configuration file (default KUBECONFIG, ~/.kube/config)"),
    flag("context", "Context of the Kubernetes configuration"),
    flag("namespace", "Namespace of objects that name none", { short: "n" }),
    flag("meshConfigFile", "Mesh configuration in YAML, over the built-in one"),
    flag("node", "JSON file with the node of a discovery request: id and metadata"),
    flag("workload", "NAMESPACE/POD among the objects"),
    flag("type", "Only this type: cds, eds, lds, rds, nds"),
    flag("name", "Only the resource of this name, printed whole"),
    flag("output", "text, json or yaml", { short: "o", default: "text" }),
  ],
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: folders go with --config` : undefined,
  run: async (context) => {
    const wrong = wrongUse(context);
    if (wrong !== undefined) {
      context.printError(`Error: ${wrong}\n`);
      return 2;
    }
    try {
      context.print(await explain(context));
      return 0;
    } catch (failure) {
      context.printError(`Error: ${errorMessage(failure)}\n`);
      return 1;
    }
  },
};

function wrongUse({ flags }: CommandContext): string | undefined {
  const [format, type] = [flags.string("output"), flags.string("type")];
  if (!FORMATS.includes(format)) return `--output is ${JSON.stringify(format)}, allowed: ${FORMATS.join(", ")}`;
  const types = ["cds", "eds", "lds", "rds", "nds"];
  if (type !== "" && !types.includes(type)) return `--type is ${JSON.stringify(type)}, allowed: ${types.join(", ")}`;
  if (flags.stringArray("config").length === 0 && !flags.bool("kube")) {
    return "nothing to explain: give objects with --config, or --kube for a cluster";
  }
  const hasNode = flags.string("node") !== "" || flags.string("workload") !== "";
  if (!hasNode && flags.string("diff") === "")
    return "whose configuration? give --workload NAMESPACE/POD or --node FILE";
  return undefined;
}

interface Mesh {
  readonly snapshot: PushSnapshot;
  readonly input: AnalyzeInput;
}

async function explain(context: CommandContext): Promise<string> {
  const { flags } = context;
  const rooms = await import("../../discovery/index.ts");
  const base = await readBase(context);
  const mesh = await meshOf(base, rooms.snapshotOfObjects);
  const format = flags.string("output");
  const wanted = ({ type, name }: Pick<ExplainedResource, "type" | "name">) =>
    (flags.string("type") === "" || flags.string("type") === type) &&
    (flags.string("name") === "" || flags.string("name") === name);
  if (flags.string("diff") === "") {
    const [node] = await nodesOf(context, [mesh], rooms.nodeOfPod);
    const { resources, problems } = rooms.resourcesOf(mesh.snapshot.view(parseNode(node)));
    const chosen = resources.filter(wanted);
    if (chosen.length === 0) throw new Error(`no such resource; ${resources.length} are sent, see them without --name`);
    return flags.string("name") === "" ? listText(chosen, problems, format) : wholeText(chosen, format);
  }
  const other = await readFiles([flags.string("diff")], flags.string("namespace") || "default");
  const next = await meshOf(
    flags.bool("kube") ? over(base, other) : { ...base, ...withMeshOf(base, other) },
    rooms.snapshotOfObjects,
  );
  const nodes = await nodesOf(context, [mesh, next], rooms.nodeOfPod);
  const changes = nodes.map((node) => ({
    proxy: parseNode(node).id,
    changes: rooms
      .compareResources(sentBy(mesh, node, rooms.resourcesOf), sentBy(next, node, rooms.resourcesOf))
      .filter(wanted),
  }));
  return changesText(changes, format);
}

function sentBy(
  { snapshot }: Mesh,
  node: XdsNode,
  resourcesOf: (view: ReturnType<PushSnapshot["view"]>) => { readonly resources: readonly ExplainedResource[] },
): readonly ExplainedResource[] {
  return resourcesOf(snapshot.view(parseNode(node))).resources;
}

async function readBase(context: CommandContext): Promise<AnalyzeInput> {
  const { flags } = context;
  const files = await readFiles(flags.stringArray("config"), flags.string("namespace") || "default");
  const input = flags.bool("kube") ? over(await readCluster(context), files) : files;
  return withMesh(input, flags.string("meshConfigFile"));
}

function withMeshOf({ meshLayers }: AnalyzeInput, { objects, unreadable }: AnalyzeInput) {
  return { objects, unreadable, meshLayers };
}

async function meshOf(
  input: AnalyzeInput,
  snapshotOfObjects: (
    objects: readonly object[],
    settings: Awaited<ReturnType<typeof parseMeshLayers>>["settings"],
  ) => PushSnapshot,
): Promise<Mesh> {
  const [bad] = input.unreadable;
  if (bad !== undefined) throw new Error(`${bad.file}:${bad.line}: ${bad.message}`);
  const { settings, problem } = await parseMeshLayers(input.meshLayers);
  if (problem !== undefined) throw new Error(problem);
  return { snapshot: snapshotOfObjects(input.objects.map(documentOf), settings), input };
}

async function nodesOf(
  { flags }: CommandContext,
  meshes: readonly Mesh[],
  nodeOfPod: (pod: object) => XdsNode | undefined,
): Promise<readonly XdsNode[]> {
  const file = flags.string("node");
  if (file !== "") {
    const [text = ""] = await readResourceFiles([file]);
    return [JSON.parse(text) as XdsNode];
  }
  const pods = new Map(
    meshes
      .flatMap(({ input }) => [...input.objects])
      .filter(({ kind }) => kind === "Pod")
      .map((pod) => [`${pod.namespace}/${pod.name}`, nodeOfPod(documentOf(pod))]),
  );
  const wanted = flags.string("workload");
  if (wanted === "") {
    const all = [...pods.values()].filter((node) => node !== undefined);
    if (all.length === 0) throw new Error("the objects have no pod with an address (status.podIP); give --node FILE");
    return all;
  }
  const node = pods.get(wanted);
  if (node !== undefined) return [node];
  const known = [...pods.keys()].slice(0, 10).join(", ");
  throw new Error(
    pods.has(wanted)
      ? `pod ${wanted} has no address (status.podIP) yet`
      : `no pod ${wanted} among the objects; ${known === "" ? "there are none" : `there are ${known}`}`,
  );
}

function listText(resources: readonly ExplainedResource[], problems: readonly string[], format: string): string {
  const rows = resources.map(({ type, name, version }) => ({ type, name, version }));
  if (format === "json") return `${JSON.stringify({ resources: rows, problems }, undefined, 2)}\n`;
  const lines = rows.map(({ type, name }) => `${type.toUpperCase()}  ${name === "" ? "(the table)" : name}`);
  if (format === "yaml") return printYaml({ resources: rows, problems });
  return `${[...lines, ...problems.map((problem) => `!    ${problem}`)].join("\n")}\n`;
}

function wholeText(resources: readonly ExplainedResource[], format: string): string {
  const values = resources.map(({ value }) => value);
  const shown = values.length === 1 ? values[0] : values;
  return format === "yaml" ? printYaml(shown) : `${JSON.stringify(shown, undefined, 2)}\n`;
}

interface ProxyChanges {
  readonly proxy: string;
  readonly changes: readonly ResourceChange[];
}

function changesText(all: readonly ProxyChanges[], format: string): string {
  if (format === "json") return `${JSON.stringify(all, undefined, 2)}\n`;
  if (format === "yaml") return printYaml(all);
  const touched = all.filter(({ changes }) => changes.length > 0);
  const blocks = touched.map(({ proxy, changes }) => {
    const lines = changes.flatMap(({ type, name, change, members }) => [
      `  ${{ added: "+", removed: "-", changed: "~" }[change]} ${type.toUpperCase()} ${name === "" ? "(the table)" : name}`,
      ...members.map((line) => `      ${line}`),
    ]);
    return `${proxy}\n${lines.join("\n")}\n`;
  });
  return `${blocks.join("")}${touched.length} of ${all.length} ${all.length === 1 ? "proxy" : "proxies"} would be sent something.\n`;
}
