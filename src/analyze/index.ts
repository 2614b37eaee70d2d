export { analyze, type Suppression } from "./analyze.ts";
export type { AnalyzedObject } from "./analyzed-mesh.ts";
export { ANALYZERS } from "./analyzers/list.ts";
export { createAnalyzedMesh } from "./create-analyzed-mesh.ts";
export { type Finding, LEVELS, type Level } from "./finding.ts";
export { readObjects, toAnalyzed, withDefaultGateway } from "./read-objects.ts";
