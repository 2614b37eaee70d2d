export type { StatusActions } from "./endpoints.ts";
export { grpcBootstrapCheck } from "./grpc-bootstrap-check.ts";
export { createReadiness, type Readiness, type ReadinessCheck, type ReadinessReason } from "./readiness.ts";
export { type RouteHandler, type RouteOptions, sendError, sendText } from "./router.ts";
export { StatusError, type StatusServer, type StatusServerOptions, startStatusServer } from "./start-status-server.ts";
