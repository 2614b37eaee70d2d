import { errorMessage } from "../../base/coded-error.ts";
import type { ExplainedResource, ExplainedType } from "../../explain/index.ts";
import { parseNode, type XdsNode } from "../../mesh-model/proxy/parse-node.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { type AnalyzeInput, documentOf, over, readFiles } from "./analyze-input.ts";
import { changesText, type ExplainFormat, listText, wholeText, whyText } from "./explain-text.ts";
import { createLocator, flag, OBJECT_FLAGS, readMeshInput, refusedObjects, snapshotOf } from "./mesh-of-objects.ts";
import { readResourceFiles } from "./resource-files.ts";

const TELEMETRY = "telemetry";
/** One name is explained in much less; a resource of thousands of parts is not explained to the end. */
const REFINE_MS = 5000;
const FORMATS = ["text", "json", "yaml"];
const TYPES = ["cds", "eds", "lds", "rds", "ecds", "nds"];

export const command: Command = {
  name: "explain",
  use: "explain [telemetry] --config DIR [--node FILE | --workload NAMESPACE/POD] [--why NAME] [--diff DIR]",
  short: "Shows what proxies would be sent and why, without running one",
  long: `Makes the mesh of the objects in files (or of a cluster, --kube) and prints what a proxy would be sent: a list of resources, one of
them whole (--name), or the objects that a resource, virtual host or name comes from, with file and line (--why). With --diff, what would
change for every proxy if the objects of the other folder were in force instead.

The proxy is a pod of the objects (--workload), the node of a discovery request as a file (--node; an agent's /debug/xdsz shows one), or,
with --diff and neither, every pod that has an address. A running control plane has the same at /debug/explain.

With the argument telemetry: which provider and override is in force for spans and metrics of the workload, which object overruled which, and
why there are none.`,
  example: `  # What is sent to a pod
  pilot-agent discovery explain --config ./manifests --workload prod/web-1

  # One resource whole
  pilot-agent discovery explain --config ./manifests --workload prod/web-1 --type cds --name 'outbound|80||api.prod.svc.cluster.local'

  # Why are there no spans?
  pilot-agent discovery explain telemetry --config ./manifests --meshConfigFile ./mesh.yaml --workload prod/web-1

  # Which objects is it made from?
  pilot-agent discovery explain --config ./manifests --workload prod/web-1 --why 'outbound|80||api.prod.svc.cluster.local'
  pilot-agent discovery explain --config ./manifests --workload prod/web-1 --why api.prod.svc.cluster.local

  # What would a change do?
  pilot-agent discovery explain --config ./now --diff ./next`,
  flags: [
    ...OBJECT_FLAGS,
    flag(
      "diff",
      "File or folder of objects that would be in force instead; with --kube they are put over the cluster's",
    ),
    flag("node", "JSON file with the node of a discovery request: id and metadata"),
    flag("workload", "NAMESPACE/POD among the objects"),
    flag("type", `Only this type: ${TYPES.join(", ")}`),
    flag("name", "Only the resource of this name, printed whole"),
    flag("why", "The objects that a resource, virtual host, listener or name of this name comes from"),
    flag("output", "text, json or yaml", { short: "o", default: "text" }),
  ],
  checkArgs: (args) =>
    args.length > 1 || (args[0] ?? TELEMETRY) !== TELEMETRY
      ? `accepts no argument but ${TELEMETRY}, received ${args.join(" ")}: folders go with --config`
      : undefined,
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

function wrongUse({ flags, args }: CommandContext): string | undefined {
  const [format, type] = [flags.string("output"), flags.string("type")];
  if (!FORMATS.includes(format)) return `--output is ${JSON.stringify(format)}, allowed: ${FORMATS.join(", ")}`;
  if (type !== "" && !TYPES.includes(type)) return `--type is ${JSON.stringify(type)}, allowed: ${TYPES.join(", ")}`;
  if (flags.stringArray("config").length === 0 && !flags.bool("kube")) {
    return "nothing to explain: give objects with --config, or --kube for a cluster";
  }
  if (args[0] === TELEMETRY && flags.string("diff") !== "") return "--diff shows resources, not telemetry";
  const hasNode = flags.string("node") !== "" || flags.string("workload") !== "";
  if (!hasNode && flags.string("diff") === "")
    return "whose configuration? give --workload NAMESPACE/POD or --node FILE";
  if (flags.string("why") !== "" && flags.string("diff") !== "") return "--why is about one mesh, --diff about two";
  return undefined;
}

interface Mesh {
  readonly snapshot: PushSnapshot;
  readonly input: AnalyzeInput;
}

async function explain(context: CommandContext): Promise<string> {
  const { flags } = context;
  const base = await readMeshInput(context);
  const mesh = await meshOf(base, context);
  return flags.string("diff") === "" ? explainOne(context, mesh) : explainDifference(context, base, mesh);
}

async function explainOne(context: CommandContext, mesh: Mesh): Promise<string> {
  const { flags } = context;
  const rooms = await import("../../explain/index.ts");
  const format = flags.string("output") as ExplainFormat;
  const [node] = await nodesOf(context, [mesh], rooms.nodeOfPod);
  const view = mesh.snapshot.view(parseNode(node));
  if (context.args[0] === TELEMETRY) {
    const { telemetryText } = await import("./explain-telemetry.ts");
    return telemetryText(view, mesh.input.objects, format);
  }
  const why = flags.string("why");
  // Of a mesh with thousands of clusters, only what can have the name is made.
  const all = why.includes("|") ? (["cds", "eds"] as const) : rooms.EXPLAINED_TYPES;
  const hasEndpoints = why === "" ? undefined : (name: string) => name === why;
  const { resources, problems } = rooms.resourcesOf(view, typesOf(context, all), undefined, hasEndpoints);
  const locate = createLocator(mesh.input);
  if (why !== "") {
    const found = rooms.explainWhy(resources, why, rooms.originsOf(view));
    if (found.length === 0)
      throw new Error(`nothing that is sent has the name ${JSON.stringify(why)}; see all without --why`);
    const end = performance.now() + REFINE_MS;
    const located = rooms
      .refineOrigins(view, found, { resources, isLate: () => performance.now() > end })
      .map(({ origins, parts, ...rest }) => ({
        ...rest,
        origins: origins.map(locate),
        parts: parts.map((part) => ({ ...part, origins: part.origins.map(locate) })),
      }));
    return whyText(located, format);
  }
  const chosen = resources.filter(({ name }) => flags.string("name") === "" || flags.string("name") === name);
  if (chosen.length === 0) throw new Error(`no such resource; ${resources.length} are sent, see them without --name`);
  if (flags.string("name") !== "") return wholeText(chosen, format);
  const located = problems.map(({ text, origin }) => ({ text, ...(origin && { origin: locate(origin) }) }));
  return listText(chosen, located, format);
}

async function explainDifference(context: CommandContext, base: AnalyzeInput, mesh: Mesh): Promise<string> {
  const { flags } = context;
  const rooms = await import("../../explain/index.ts");
  const other = await readFiles([flags.string("diff")], flags.string("namespace") || "default");
  const { objects, unreadable } = other;
  const next = await meshOf(flags.bool("kube") ? over(base, other) : { ...base, objects, unreadable }, context);
  const nodes = await nodesOf(context, [mesh, next], rooms.nodeOfPod);
  const types = typesOf(context, rooms.EXPLAINED_TYPES);
  const sentTo = ({ snapshot }: Mesh, node: XdsNode) =>
    rooms.resourcesOf(snapshot.view(parseNode(node)), types).resources;
  const isWanted = ({ name }: Pick<ExplainedResource, "name">) =>
    flags.string("name") === "" || flags.string("name") === name;
  const changes = nodes.map((node) => ({
    proxy: parseNode(node).id,
    changes: rooms.compareResources(sentTo(mesh, node), sentTo(next, node)).filter(isWanted),
  }));
  return changesText(changes, flags.string("output") as ExplainFormat);
}

function typesOf({ flags }: CommandContext, all: readonly ExplainedType[]): readonly ExplainedType[] {
  return all.filter((type) => flags.string("type") === "" || flags.string("type") === type);
}

async function meshOf(input: AnalyzeInput, { printError }: CommandContext): Promise<Mesh> {
  for (const line of refusedObjects(input)) printError(`Warning: ${line}\n`);
  return { snapshot: await snapshotOf(input), input };
}

async function nodesOf(
  { flags }: CommandContext,
  meshes: readonly Mesh[],
  nodeOfPod: (pod: object) => XdsNode | undefined,
): Promise<readonly XdsNode[]> {
  const file = flags.string("node");
  if (file !== "") {
    const [text = ""] = await readResourceFiles([file]);
    return [nodeIn(text, file)];
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

/** Any node that is one: also of a workload that no object names. */
function nodeIn(text: string, file: string): XdsNode {
  try {
    const node = JSON.parse(text) as XdsNode;
    parseNode(node);
    return node;
  } catch (failure) {
    throw new Error(`${file} is no node of a discovery request: ${errorMessage(failure)}`, { cause: failure });
  }
}
