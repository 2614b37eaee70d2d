export { analyzeObjects } from "./analyze-objects.ts";
export { startDiscoveryConsole } from "./console/start-discovery-console.ts";
export { DiscoveryError } from "./discovery-error.ts";
export { compareResources, type ResourceChange } from "./explain/compare-resources.ts";
export { nodeOfPod } from "./explain/node-of-pod.ts";
export { originsOf } from "./explain/origins-of.ts";
export { refineOrigins } from "./explain/refine-origins.ts";
export {
  EXPLAINED_TYPES,
  type ExplainedProblem,
  type ExplainedResource,
  type ExplainedType,
  resourcesOf,
} from "./explain/resources-of.ts";
export { simulatedMesh } from "./explain/simulated-mesh.ts";
export { type Explanation, explainWhy } from "./explain/why.ts";
export { type Workload, workloadsOf } from "./explain/workloads-of.ts";
export type { Discovery, StartDiscoveryOptions } from "./options.ts";
export { snapshotOfObjects } from "./snapshot-of-objects.ts";
export { startDiscovery } from "./start-discovery.ts";
export { startInjector } from "./start-injector.ts";
