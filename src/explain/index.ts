export { compareResources, type ResourceChange } from "./compare-resources.ts";
export { nodeOfPod } from "./node-of-pod.ts";
export { originsOf } from "./origins-of.ts";
export { refineOrigins } from "./refine-origins.ts";
export {
  EXPLAINED_TYPES,
  type ExplainedProblem,
  type ExplainedResource,
  type ExplainedType,
  resourcesOf,
} from "./resources-of.ts";
export { simulatedMesh } from "./simulated-mesh.ts";
export { type Explanation, explainAll, explainWhy } from "./why.ts";
export { type Workload, workloadsOf } from "./workloads-of.ts";
