import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { buildRbac, type RbacOptions } from "./build-rbac.ts";
import { selectPolicies } from "./select-policies.ts";

/** For servers without a proxy. gRPC knows neither trials nor tokens. */
export function buildGrpcAccessFilters(view: ProxyView): readonly HttpFilter[] {
  const policies = selectPolicies(view, "AuthorizationPolicy");
  const options: RbacOptions = { mesh: view.snapshot.mesh, layer: "grpc", keyOf };
  return (["CUSTOM", "DENY", "ALLOW"] as const).flatMap((action) => {
    const rules = buildRbac(policies, action, options)?.rules;
    if (rules === undefined) return [];
    return [{ name: NAMES[action], typedConfig: pack("envoy.extensions.filters.http.rbac.v3.RBAC", { rules }) }];
  });
}

/** Names must differ within a chain. */
const NAMES = {
  CUSTOM: "envoy.filters.http.rbac.CUSTOM",
  DENY: "envoy.filters.http.rbac.DENY",
  ALLOW: "envoy.filters.http.rbac",
} as const;

const keyOf: RbacOptions["keyOf"] = ({ namespace, name }, rule) => `${namespace}-${name}-${rule}`;
