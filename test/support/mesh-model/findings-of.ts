import {
  type AnalyzedObject,
  analyze,
  createAnalyzedMesh,
  type Finding,
  readObjects,
  withDefaultGateway,
} from "../../../src/analyze/index.ts";
import { snapshotOfObjects } from "../../../src/discovery/snapshot-of-objects.ts";
import { meshOfCase } from "./view-of-case.ts";

/** What is found in a text of objects, with the gateway of an ordinary installation. */
export function findingsOf(yaml: string, meshYaml?: string): readonly Finding[] {
  return findingsIn(readObjects(yaml, "mesh.yaml", "default").objects, meshYaml);
}

export function findingsIn(given: readonly AnalyzedObject[], meshYaml?: string): readonly Finding[] {
  const settings = meshOfCase(meshYaml);
  const objects = withDefaultGateway(given, settings.rootNamespace);
  const snapshot = snapshotOfObjects(
    objects.map(({ body, namespace, name }) => ({
      ...body,
      metadata: { ...(body.metadata as object), namespace, name },
    })),
    settings,
  );
  return analyze(createAnalyzedMesh({ objects, settings, snapshot, now: Date.parse("2026-06-01T00:00:00Z") }));
}
