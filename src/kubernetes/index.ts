export { findClusterAccess } from "./access/in-cluster.ts";
export { createKubernetesClient } from "./client.ts";
export { declareKubernetesMetrics, type KubernetesMetrics } from "./metrics.ts";
export { startReflector } from "./reflector/start-reflector.ts";
