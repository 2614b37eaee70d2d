import type { AnalyzedObject, Finding } from "../../analyze/index.ts";
import { suggest } from "../../base/suggest.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { isKind, KINDS } from "../../istio-api/kinds.ts";
import { type MeshPlan, shadowedService, WORKLOAD_POLICIES } from "../../mesh/index.ts";
import { parseMeshLayers } from "../../mesh-model/build-mesh-settings.ts";

/** Istio objects as a user has written them. */
export interface RuleText {
  readonly file: string;
  readonly text: string;
  /** Of an object that stands inside another file: the line where it begins there. */
  readonly line?: number;
}

export interface Review {
  /** Keep an object out, or do harm. */
  readonly errors: readonly string[];
  /** Have no effect, or another one than it seems. */
  readonly warnings: readonly string[];
}

type ReviewedMesh = Pick<MeshPlan, "namespace" | "services" | "workloads">;
type Level = keyof Review;

/**
 * Looks at rules together with the services and workloads that they are for: what is wrong by itself, what names things that are not
 * there, and what would take the place of a service. Every line begins with file and line.
 */
export async function reviewRules(mesh: ReviewedMesh, texts: readonly RuleText[]): Promise<Review> {
  const found: { readonly level: Level; readonly line: string }[] = [];
  const add = (level: Level, where: string, text: string) => found.push({ level, line: `${where}: ${text}` });
  for (const { file, text, line } of texts) {
    for (const problem of parseConfigText(text, { defaultNamespace: mesh.namespace }).problems) {
      const { severity, field, message, object } = problem;
      const where = line === undefined ? `${file}:${problem.line}:${problem.column}` : placeOf(file, line);
      add(
        severity === "error" ? "errors" : "warnings",
        where,
        `${field === "" ? "" : `${field}: `}${message}${object === undefined ? "" : ` (${nameOf(object)})`}`,
      );
    }
  }
  const rooms = await import("../../analyze/index.ts");
  const read = texts.flatMap(({ file, text, line }) =>
    rooms.readObjects(text, file, mesh.namespace).objects.map((object) => located(object, line)),
  );
  // What was applied takes the place of an object of the same name in the file, and stands behind it here.
  const objects = [...new Map(read.map((object) => [nameOf(object), object])).values()];
  for (const object of objects) {
    const problem = ownProblem(object, mesh);
    if (problem !== undefined) add(problem.level, whereOf(object), `${problem.text} (${nameOf(object)})`);
  }
  for (const finding of await analyzed(objects, mesh, rooms)) {
    const { position, level, message, object } = finding;
    const where = position === undefined ? "" : placeOf(position.file, position.line);
    add(level === "Error" ? "errors" : "warnings", where, `${inMeshWords(message)} (${nameOf(object)})`);
  }
  const linesOf = (level: Level) => [...new Set(found.filter((each) => each.level === level).map(({ line }) => line))];
  return { errors: linesOf("errors"), warnings: linesOf("warnings") };
}

function located(object: AnalyzedObject, line: number | undefined): AnalyzedObject {
  const { locate } = object;
  return line === undefined || locate === undefined
    ? object
    : { ...object, locate: (path) => ({ ...locate(path), line }) };
}

function nameOf({ kind, namespace, name }: Pick<AnalyzedObject, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}

function whereOf({ locate }: AnalyzedObject): string {
  const position = locate?.([]);
  return position === undefined ? "" : placeOf(position.file, position.line);
}

/** In place of the file of an object that was applied, which has no lines any more. */
export const APPLIED = "applied";

function placeOf(file: string, line: number): string {
  return file === APPLIED ? file : `${file}:${line}`;
}

/** Analyzers speak of clusters; names, which are quoted, stay as they are. */
function inMeshWords(message: string): string {
  return message.replace(/(?<![\w".-])pod(s?)(?![\w".-])/g, "workload$1");
}

/** What only a mesh of one machine can get wrong. */
function ownProblem(
  { kind, namespace, body }: AnalyzedObject,
  mesh: ReviewedMesh,
): { readonly level: Level; readonly text: string } | undefined {
  if (!isKind(kind)) {
    if (kind === "Secret") return undefined;
    const [near] = suggest(kind, Object.keys(KINDS));
    // Of others the decoder itself says that they have no effect.
    return near === undefined
      ? undefined
      : { level: "errors", text: `kind ${kind} is not known; did you mean ${near}?` };
  }
  const service = kind === "ServiceEntry" ? shadowedService(mesh, body) : undefined;
  if (service !== undefined) {
    return { level: "errors", text: `it would take the place of the service ${service} of the mesh file; rename it` };
  }
  if (WORKLOAD_POLICIES.has(kind) && namespace !== mesh.namespace && namespace !== ROOT_NAMESPACE) {
    const text = `no workload is in namespace ${namespace}: all of this mesh are in ${mesh.namespace}, so it selects none`;
    return { level: "warnings", text };
  }
  return undefined;
}

const ROOT_NAMESPACE = "istio-system";
/** Of clusters, or about what the analyzers are given in place of one. */
const NOT_HERE: ReadonlySet<string> = new Set([
  "SchemaValidationError",
  "SchemaWarning",
  "NamespaceNotInjected",
  "PodMissingProxy",
  "PortNameIsNotUnderNamingConvention",
  "DeploymentAssociatedToMultipleServices",
]);

async function analyzed(
  objects: readonly AnalyzedObject[],
  mesh: ReviewedMesh,
  rooms: Pick<typeof import("../../analyze/index.ts"), "analyze" | "createAnalyzedMesh" | "toAnalyzed">,
): Promise<readonly Finding[]> {
  const rules = objects.filter(({ kind }) => isKind(kind) || kind === "Secret");
  if (rules.length === 0) return [];
  const { snapshotOfObjects } = await import("../../discovery/index.ts");
  const { settings } = await parseMeshLayers([]);
  const all = [...rules, ...clusterObjects(mesh).map((body) => rooms.toAnalyzed(body, mesh.namespace))];
  const snapshot = snapshotOfObjects(all.map(documentOf), settings);
  return rooms
    .analyze(rooms.createAnalyzedMesh({ objects: all, settings, snapshot, now: Date.now() }), { suppress: [] })
    .filter(({ name, level, object }) => !NOT_HERE.has(name) && level !== "Info" && isKind(object.kind));
}

/** With the namespace that it is in, also where its text names none. */
function documentOf({ body, namespace, name }: AnalyzedObject) {
  return { ...body, metadata: { ...(body.metadata as object), name, ...(namespace !== "" && { namespace }) } };
}

/** The mesh as the analyzers know meshes: services, and pods with a sidecar. */
function clusterObjects({
  namespace,
  services,
  workloads,
}: ReviewedMesh): readonly Readonly<Record<string, unknown>>[] {
  const object = (kind: string, name: string, more: object, labels: object = {}) => ({
    apiVersion: "v1",
    kind,
    metadata: { name, ...(kind === "Namespace" ? {} : { namespace }), labels },
    ...more,
  });
  return [
    object("Namespace", namespace, {}, { "istio-injection": "enabled" }),
    ...services.map(({ name, ports }) =>
      object("Service", name, {
        spec: {
          selector: { app: name },
          ports: ports.map(({ name: port, port: number }) => ({
            name: port,
            port: number,
            targetPort: number,
            protocol: "TCP",
          })),
        },
      }),
    ),
    ...workloads.map(({ name, labels, address, serviceAccount }) =>
      object(
        "Pod",
        name,
        {
          spec: {
            serviceAccountName: serviceAccount,
            containers: [{ name: "app" }, { name: "istio-proxy", image: "istio/proxyv2" }],
          },
          status: { podIP: address, phase: "Running" },
        },
        labels,
      ),
    ),
  ];
}
