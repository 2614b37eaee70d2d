export { analyzeObjects } from "./analyze-objects.ts";
export { startDiscoveryConsole } from "./console/start-discovery-console.ts";
export { DiscoveryError } from "./discovery-error.ts";
export type { Discovery, StartDiscoveryOptions } from "./options.ts";
export { snapshotOfObjects } from "./snapshot-of-objects.ts";
export { startDiscovery } from "./start-discovery.ts";
export { startInjector } from "./start-injector.ts";
