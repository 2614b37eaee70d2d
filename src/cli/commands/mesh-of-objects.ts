import { parseMeshLayers } from "../../mesh-model/build-mesh-settings.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { TokenKeys } from "../../mesh-model/token-keys.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import type { Origin } from "../../simulate/index.ts";
import type { CommandContext } from "../framework/command.ts";
import type { FlagSpec } from "../framework/flags.ts";
import { type AnalyzeInput, documentOf, over, readCluster, readFiles, withMesh } from "./analyze-input.ts";

export function flag(name: string, usage: string, more: Partial<FlagSpec> = {}): FlagSpec {
  return { name, type: "string", default: "", usage, ...more } as FlagSpec;
}

/** Where the objects of a mesh come from, for commands that make one of them. */
export const OBJECT_FLAGS: readonly FlagSpec[] = [
  flag("config", "File or folder of objects, with its sub-folders; may be repeated", {
    type: "stringArray",
    default: [],
  }),
  flag("kube", "Read the cluster's objects; those of --config are put over them", {
    type: "bool",
    default: false,
    short: "k",
  }),
  flag("kubeconfig", "Kubernetes configuration file (default KUBECONFIG, ~/.kube/config)"),
  flag("context", "Context of the Kubernetes configuration"),
  flag("namespace", "Namespace of objects that name none", { short: "n" }),
  flag("meshConfigFile", "Mesh configuration in YAML, over the built-in one"),
];

/** The objects that the flags of a command name. */
export async function readMeshInput(context: CommandContext): Promise<AnalyzeInput> {
  const { flags } = context;
  const files = await readFiles(flags.stringArray("config"), flags.string("namespace") || "default");
  const input = flags.bool("kube") ? over(await readCluster(context), files) : files;
  return withMesh(input, flags.string("meshConfigFile"));
}

/** A mesh of objects, without any server. Rejects with file and line for a document that cannot be read. */
export async function snapshotOf(input: AnalyzeInput, tokenKeys?: TokenKeys): Promise<PushSnapshot> {
  const [bad] = input.unreadable;
  if (bad !== undefined) throw new Error(`${bad.file}:${bad.line}: ${bad.message}`);
  const { settings, problem } = await parseMeshLayers(input.meshLayers);
  if (problem !== undefined) throw new Error(problem);
  const { snapshotOfObjects } = await import("../../discovery/index.ts");
  const decoded = input.objects.map((object) => object.decoded);
  return snapshotOfObjects(input.objects.map(documentOf), settings, { decoded, ...(tokenKeys && { tokenKeys }) });
}

/** Rule objects that a control plane would refuse, each with its reason; the mesh is made without them. */
export function refusedObjects({ objects }: AnalyzeInput): readonly string[] {
  return objects.flatMap(({ kind, namespace, name, decoded, locate }) => {
    const problem = decoded?.problems.find(({ severity }) => severity === "error");
    if (problem === undefined) return [];
    const found = locate?.(problem.path);
    const where = found === undefined ? "" : ` (${found.file}:${found.line})`;
    return [`${kind} ${namespace}/${name}${where} is refused and left out: ${problem.message}`];
  });
}

/** Adds to an object the file and line where it stands, or the cluster and its version there. What is planned is what it would be made of. */
export function createLocator({ objects, planned, cluster }: AnalyzeInput): (origin: Origin) => Origin {
  const known = new Map(objects.map((object) => [`${object.kind}/${object.namespace}/${object.name}`, object]));
  return (origin) => {
    // The registry of these objects has a name of its own for the cluster.
    const { cluster: _, ...given } = origin;
    const shown = known.get(`${origin.kind}/${origin.namespace}/${origin.name}`);
    const object = (shown && planned?.get(shown)) ?? shown;
    const named = object === undefined ? given : { ...given, kind: object.kind, name: object.name };
    const found = object?.locate?.(origin.path ?? []);
    if (found !== undefined) return { ...named, file: found.file, line: found.line };
    const { resourceVersion } = (object?.body.metadata ?? {}) as { readonly resourceVersion?: unknown };
    if (cluster === undefined || typeof resourceVersion !== "string") return named;
    return { ...named, cluster, resourceVersion };
  };
}

/** `VirtualService prod/web (mesh.yaml:12)`, `Pod prod/web-1 (cluster kind, version 4711)`, `ServiceEntry prod/db spec.endpoints[1]`. */
export function originText({ kind, namespace, name, path, overruledBy, ...origin }: Origin): string {
  const version = origin.resourceVersion === undefined ? "" : `, version ${origin.resourceVersion}`;
  const inCluster = origin.cluster === undefined ? "" : ` (cluster ${origin.cluster}${version})`;
  const where = origin.file === undefined ? inCluster : ` (${origin.file}:${origin.line})`;
  const title = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}${path === undefined ? "" : ` ${formatPath(path)}`}`;
  return `${title}${where}${overruledBy === undefined ? "" : `, overruled by ${overruledBy}`}`;
}
