import {
  analyze,
  createAnalyzedMesh,
  type Finding,
  readObjects,
  toAnalyzed,
  withDefaultGateway,
} from "../analyze/index.ts";
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

/** What analyze finds in objects of a control plane, with some of them changed. */
export async function analyzeObjects({ stored, yaml, namespace }: AnalyzeObjectsInput): Promise<readonly Finding[]> {
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
