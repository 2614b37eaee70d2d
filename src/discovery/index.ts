export { DiscoveryError } from "./discovery-error.ts";
export type { Discovery, DiscoveryPorts, PortOption, ServingFiles, StartDiscoveryOptions } from "./options.ts";
export { startDiscovery } from "./start-discovery.ts";
