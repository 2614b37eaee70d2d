export { type CachingSource, createResourceSource } from "./create-resource-source.ts";
export { encodeResource } from "./encoded-resource.ts";
export type { CacheCounts } from "./resource-cache.ts";
export type { ResourceProblem } from "./resource-problems.ts";
