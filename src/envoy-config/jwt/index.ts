/** Whose tokens a workload takes: RequestAuthentication as a filter of its listeners. Pure. */

export { buildJwtFilters } from "./build-jwt-filters.ts";
