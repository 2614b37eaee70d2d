import {
  analyze,
  createAnalyzedMesh,
  type Finding,
  readObjects,
  toAnalyzed,
  withDefaultGateway,
} from "../analyze/index.ts";
import type { ObjectFinding } from "../console/index.ts";
import { parseMeshLayers } from "../mesh-model/build-mesh-settings.ts";
import { snapshotOfObjects } from "./snapshot-of-objects.ts";

export interface AnalyzeObjectsInput {
  /** Objects in force; `source` is where they are written. */
  readonly stored: readonly {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly document: Readonly<Record<string, unknown>>;
    readonly source?: { readonly file: string; readonly line: number };
  }[];
  /** Documents that would stand above them; their findings are at lines of this text, with an empty file. */
  readonly yaml: string;
  readonly namespace: string;
}

/** What analyze finds in objects of a control plane, with some of them changed, as the console shows it. */
export async function analyzeObjects(input: AnalyzeObjectsInput): Promise<readonly ObjectFinding[]> {
  return (await findingsOf(input)).map(({ level, code, message, object, position }) => ({
    kind: object.kind,
    namespace: object.namespace,
    name: object.name,
    severity: ({ Error: "error", Warning: "warning", Info: "info" } as const)[level],
    code,
    message,
    ...(position === undefined ? {} : { position }),
  }));
}

async function findingsOf({ stored, yaml, namespace }: AnalyzeObjectsInput): Promise<readonly Finding[]> {
  const { settings, problem } = await parseMeshLayers([]);
  if (problem !== undefined) throw new Error(problem);
  const given = readObjects(yaml, "", namespace).objects;
  const keys = new Set(given.map(keyOf));
  const others = stored
    .filter((object) => !keys.has(keyOf(object)))
    .map(({ document, source }) => toAnalyzed(document, namespace, source && (() => source)));
  const objects = withDefaultGateway([...given, ...others], settings.rootNamespace);
  const documents = objects.map(({ body, namespace: own, name }) => ({
    ...body,
    metadata: { ...(body.metadata as object), name, ...(own !== "" && { namespace: own }) },
  }));
  const snapshot = snapshotOfObjects(documents, settings);
  return analyze(createAnalyzedMesh({ objects, settings, snapshot, now: Date.now() }), { suppress: [] });
}

function keyOf({
  kind,
  namespace,
  name,
}: {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}): string {
  return `${kind}/${namespace}/${name}`;
}
