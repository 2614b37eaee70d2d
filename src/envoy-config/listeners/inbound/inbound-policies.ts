import type { Filter } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";

/** What security rules put in front of the workload; the same for all its ports. */
export interface InboundPolicies {
  /** ext_authz, jwt_authn and rbac, in this order; before every other HTTP filter. */
  readonly http: readonly HttpFilter[];
  /** ext_authz and rbac of chains without HTTP layer, before the TCP proxy. */
  readonly network: readonly Filter[];
}

export const NO_POLICIES: InboundPolicies = { http: [], network: [] };
