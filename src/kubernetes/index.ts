export type { ClusterAccess } from "./access/cluster-access.ts";
export { findClusterAccess } from "./access/in-cluster.ts";
export { parseForeignKubeconfig } from "./access/read-kubeconfig.ts";
export { createKubernetesClient } from "./client.ts";
export { isTransient } from "./kubernetes-error.ts";
export { declareKubernetesMetrics, type KubernetesMetrics } from "./metrics.ts";
export type { Freshness } from "./reflector/reflector.ts";
export { startReflector } from "./reflector/start-reflector.ts";
