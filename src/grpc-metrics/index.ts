export { createGrpcMetrics, type GrpcMetrics, type GrpcMetricsOptions } from "./create-grpc-metrics.ts";
export type { GrpcLibrary } from "./grpc-library.ts";
