import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AnalyzedObject } from "../../analyze/index.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { isKind, KINDS } from "../../istio-api/kinds.ts";
import type { MeshLayer } from "../../mesh-model/build-mesh-settings.ts";
import type { CommandContext } from "../framework/command.ts";
import { readResourceFiles } from "./resource-files.ts";

export interface AnalyzeInput {
  readonly objects: readonly AnalyzedObject[];
  readonly unreadable: readonly { readonly file: string; readonly line: number; readonly message: string }[];
  readonly meshLayers: readonly MeshLayer[];
  readonly hasCluster: boolean;
  /** Objects that stand for what controllers would make, with what they would make it of. */
  readonly planned?: ReadonlyMap<AnalyzedObject, AnalyzedObject>;
  /** The name of the cluster, of objects that are not of files. */
  readonly cluster?: string;
}

const OBJECT_FILE = /\.(ya?ml|json)$/;

/** Objects of files and of all YAML and JSON files below folders. */
export async function readFiles(paths: readonly string[], defaultNamespace: string): Promise<AnalyzeInput> {
  const { readObjects } = await import("../../analyze/index.ts");
  const files = paths.flatMap((path) => (path === "-" ? ["-"] : filesOf(path)));
  const texts = files.length === 0 ? [] : await readResourceFiles(files);
  const read = texts.map((text, at) =>
    readObjects(text, files[at] === "-" ? "stdin" : (files[at] ?? ""), defaultNamespace),
  );
  return {
    objects: read.flatMap(({ objects }) => [...objects]),
    unreadable: read.flatMap(({ unreadable }) => [...unreadable]),
    meshLayers: [],
    hasCluster: false,
  };
}

function filesOf(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
  } catch (failure) {
    if (errorCode(failure) === "ENOENT") throw new Error(`${path}: no such file or folder`, { cause: failure });
    throw new Error(`${path}: ${errorMessage(failure)}`, { cause: failure });
  }
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const inside = join(path, entry.name);
      if (entry.isDirectory()) return entry.name.startsWith(".") ? [] : filesOf(inside);
      return OBJECT_FILE.test(entry.name) ? [inside] : [];
    });
}

const CORE = { group: "", version: "v1" };
const APPS = { group: "apps", version: "v1" };
/** What analyzers ask for besides rule objects. Secrets only by those who may read them. */
const RESOURCES = [
  { ...CORE, plural: "namespaces", kind: "Namespace" },
  { ...CORE, plural: "nodes", kind: "Node" },
  { ...CORE, plural: "services", kind: "Service" },
  { ...CORE, plural: "pods", kind: "Pod" },
  { ...CORE, plural: "configmaps", kind: "ConfigMap" },
  { ...CORE, plural: "secrets", kind: "Secret" },
  { ...APPS, plural: "deployments", kind: "Deployment" },
  { group: "discovery.k8s.io", version: "v1", plural: "endpointslices", kind: "EndpointSlice" },
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    plural: "mutatingwebhookconfigurations",
    kind: "MutatingWebhookConfiguration",
  },
] as const;

const PAGE = 500;
/** All objects of a cluster that analyzers look at, and its mesh configuration. What may not be read is said and left out. */
export async function readCluster({ flags, env, signal, printError }: CommandContext): Promise<AnalyzeInput> {
  const [{ toAnalyzed }, { createKubernetesClient, findClusterAccess }] = await Promise.all([
    import("../../analyze/index.ts"),
    import("../../kubernetes/index.ts"),
  ]);
  const context = flags.string("context");
  const access = await findClusterAccess({
    kubeconfig: flags.string("kubeconfig"),
    ...(context !== "" && { context }),
    env,
  });
  await using client = createKubernetesClient({ access, env });
  const rules = await servedRules((path) => client.read(path, signal));
  const objects: AnalyzedObject[] = [];
  for (const { kind, ...resource } of [...RESOURCES, ...rules]) {
    let continueToken: string | undefined;
    try {
      do {
        const page = await client.list(resource, { limit: PAGE, continueToken, signal });
        const apiVersion = resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
        for (const item of page.items) objects.push(toAnalyzed({ ...item, apiVersion, kind }, "default"));
        continueToken = page.continueToken;
      } while (continueToken !== undefined && continueToken !== "");
    } catch (failure) {
      // A cluster without some kinds, or an account that may not read all, is analyzed as far as it can be seen.
      if (resource.plural === "namespaces") throw failure;
      printError(`Warning: ${errorMessage(failure)}: left out\n`);
    }
  }
  const mesh = objects.find(
    ({ kind, namespace, name }) => kind === "ConfigMap" && namespace === "istio-system" && name === "istio",
  );
  const text = (mesh?.body.data as Readonly<Record<string, unknown>> | undefined)?.mesh;
  const meshLayers = typeof text === "string" ? [{ text, source: "ConfigMap istio-system/istio" }] : [];
  return { objects, unreadable: [], meshLayers, hasCluster: true, cluster: access.name };
}

interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
}

/** Rule kinds that the cluster has, in the newest version that both sides know. */
async function servedRules(read: (path: string) => Promise<unknown>): Promise<readonly ServedKind[]> {
  const served = new Map<string, ServedKind>();
  const versions = new Set(
    Object.values(KINDS).flatMap(({ group, versions: all }) => all.map((one) => `${group}/${one}`)),
  );
  for (const groupVersion of versions) {
    const [group = "", version = ""] = groupVersion.split("/");
    const answer = (await read(`/apis/${groupVersion}`).catch(() => ({}))) as {
      readonly resources?: readonly ServedResource[];
    };
    for (const { kind, name } of answer.resources ?? []) {
      if (!isKind(kind) || name.includes("/") || KINDS[kind].group !== group || served.has(kind)) continue;
      served.set(kind, { kind, group, version, plural: name });
    }
  }
  return [...served.values()];
}

interface ServedResource {
  readonly kind: string;
  readonly name: string;
}

/** With the mesh configuration of a file over what there is. */
export async function withMesh(input: AnalyzeInput, file: string): Promise<AnalyzeInput> {
  if (file === "") return input;
  const [text = ""] = await readResourceFiles([file]);
  return { ...input, meshLayers: [...input.meshLayers, { text, source: `file ${file}` }] };
}

/** The objects of files count before those of the same name. */
export function over(under: AnalyzeInput, files: AnalyzeInput): AnalyzeInput {
  const keyOf = ({ kind, namespace, name }: AnalyzeInput["objects"][number]) => `${kind}/${namespace}/${name}`;
  const given = new Set(files.objects.map(keyOf));
  return {
    ...under,
    objects: [...files.objects, ...under.objects.filter((object) => !given.has(keyOf(object)))],
    unreadable: files.unreadable,
  };
}

/** The document with the namespace that it is in. */
export function documentOf({ body, namespace, name }: AnalyzeInput["objects"][number]) {
  return { ...body, metadata: { ...(body.metadata as object), name, ...(namespace !== "" && { namespace }) } };
}
