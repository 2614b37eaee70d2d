export { DEFAULT_TEXT_FORMAT } from "./access-log/file-log.ts";
export { type CachingSource, createResourceSource } from "./create-resource-source.ts";
export { encodeResource } from "./encoded-resource.ts";
export { assignedEndpoints } from "./endpoints/load-assignment.ts";
export { patchBootstrap } from "./envoy-filter/patch-bootstrap.ts";

export type { ResourceProblem } from "./resource-problems.ts";
export { clusterName, PASSTHROUGH_CLUSTER, parseClusterName } from "./shared/cluster-name.ts";
export { type ExplainedTelemetry, explainTelemetry } from "./telemetry/explain-telemetry.ts";
