import { pack } from "../../protobuf/envoy/index.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";

export interface HttpFilterOptions {
  /** Some service behind the chain speaks gRPC-Web. */
  readonly grpcWeb?: boolean;
  /** Responses do not tell what Envoy knows about them. */
  readonly hidesDebugHeaders?: boolean;
  /** ext_authz, jwt_authn and rbac, in this order. */
  readonly security?: readonly HttpFilter[];
  /** For services whose hosts are looked up as they are called. */
  readonly lookup?: HttpFilter | undefined;
}

/** The filters of an HTTP chain in their order. What only counts is left out; fault and cors do nothing until a route says so. */
export function buildHttpFilters(options: HttpFilterOptions): readonly HttpFilter[] {
  const { grpcWeb = false, hidesDebugHeaders = false, security = [], lookup } = options;
  const router = hidesDebugHeaders ? SILENT_ROUTER : ROUTER;
  return [...security, ...(grpcWeb ? [GRPC_WEB] : []), FAULT, CORS, ...(lookup ? [lookup] : []), router];
}

const GRPC_WEB: HttpFilter = {
  name: "envoy.filters.http.grpc_web",
  typedConfig: pack("envoy.extensions.filters.http.grpc_web.v3.GrpcWeb", {}),
};
const FAULT: HttpFilter = {
  name: "envoy.filters.http.fault",
  typedConfig: pack("envoy.extensions.filters.http.fault.v3.HTTPFault", {}),
};
const CORS: HttpFilter = {
  name: "envoy.filters.http.cors",
  typedConfig: pack("envoy.extensions.filters.http.cors.v3.Cors", {}),
};
const ROUTER: HttpFilter = {
  name: "envoy.filters.http.router",
  typedConfig: pack("envoy.extensions.filters.http.router.v3.Router", {}),
};
const SILENT_ROUTER: HttpFilter = {
  name: ROUTER.name,
  typedConfig: pack("envoy.extensions.filters.http.router.v3.Router", { suppressEnvoyHeaders: true }),
};
