export { DiscoveryError } from "./discovery-error.ts";
export { compareResources, type ResourceChange } from "./explain/compare-resources.ts";
export { nodeOfPod } from "./explain/node-of-pod.ts";
export { type ExplainedResource, resourcesOf } from "./explain/resources-of.ts";
export type { Discovery, StartDiscoveryOptions } from "./options.ts";
export { snapshotOfObjects } from "./snapshot-of-objects.ts";
export { startDiscovery } from "./start-discovery.ts";
export { startInjector } from "./start-injector.ts";
