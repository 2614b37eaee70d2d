export { buildContext, type CaseContext, NO_CONTEXT, readObjects } from "./case-context.ts";
export { compareClusters } from "./clusters.ts";
export { type Difference, describeDifference } from "./difference.ts";
export { compareEndpoints } from "./endpoints.ts";
export { compareListeners, type ListenerOptions } from "./listeners.ts";
export { compareNameTable } from "./name-table.ts";
export { type ClusterNames, compareRoutes } from "./routes.ts";
