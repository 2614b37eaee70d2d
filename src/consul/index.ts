export type { ConsulInstance } from "./consul-types.ts";
export { type ConsulClient, createConsulClient } from "./create-consul-client.ts";
export { startCatalogWatch } from "./start-catalog-watch.ts";
export { startKeyWatch } from "./start-key-watch.ts";
