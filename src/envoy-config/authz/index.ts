/** Who may call a workload: rules as filters of its listeners. Pure. */

export { type AccessPolicies, buildAccessPolicies } from "./build-access-policies.ts";
export { authorizersKey } from "./custom-filters.ts";
export { buildGrpcAccessFilters } from "./grpc-filters.ts";
