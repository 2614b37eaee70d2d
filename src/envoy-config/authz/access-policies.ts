import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { FailedObject } from "../shared/attempt.ts";
import { IN_FRONT, type PluginPlaces } from "../wasm/wasm-plugins.ts";
import { buildCustomFilters } from "./custom-action.ts";
import { createFailedPolicies } from "./failed-policies.ts";
import { buildJwtFilters } from "./jwt.ts";
import { type AccessView, buildRbac, httpRbac, networkRbac, type RbacOptions, selectPolicies } from "./rbac.ts";

/** What security rules put in front of the workload; the same for all its ports. */
export interface InboundPolicies {
  /** ext_authz, jwt_authn and rbac, in this order; before every other HTTP filter. */
  readonly http: readonly HttpFilter[];
  /** ext_authz and rbac of chains without HTTP layer, before the TCP proxy. */
  readonly network: readonly Filter[];
  /** Where in these lists plugins go: after ext_authz, before jwt_authn and before rbac. */
  readonly places: { readonly http: PluginPlaces; readonly network: PluginPlaces };
}

export const NO_POLICIES: InboundPolicies = {
  http: [],
  network: [],
  places: { http: IN_FRONT, network: IN_FRONT },
};

interface AccessPolicies extends InboundPolicies {
  /** What rules ask for and Envoy cannot do; access is narrower for it, never wider. */
  readonly problems: readonly string[];
  /** Policies that cannot be built: the others are there, and access is not wider for it either. */
  readonly failed: readonly FailedObject[];
}

/** What AuthorizationPolicy and RequestAuthentication objects put in front of a workload. Of the node, namespace and labels are read. */
export function buildAccessPolicies(view: AccessView): AccessPolicies {
  const failed = createFailedPolicies();
  const policies = selectPolicies(view, "AuthorizationPolicy");
  const jwt = buildJwtFilters(
    selectPolicies(view, "RequestAuthentication"),
    view.snapshot.tokenKeys,
    failed,
    view.outbound.traits.type,
  );
  const custom = buildCustomFilters(view, policies, failed);
  const rbacs = (layer: RbacOptions["layer"]) =>
    ACTIONS.flatMap((action) => buildRbac(policies, action, { mesh: view.snapshot.mesh, layer, failed, keyOf }) ?? []);
  return {
    // Providers first: what they add to a request may be the token that is then looked at.
    http: [...custom.http, ...jwt, ...rbacs("http").map(httpRbac)],
    network: [...custom.network, ...rbacs("tcp").map(networkRbac)],
    places: {
      http: { authn: custom.http.length, authz: custom.http.length + jwt.length },
      network: { authn: custom.network.length, authz: custom.network.length },
    },
    problems: custom.problems,
    failed: failed.all,
  };
}

/** Before what they may still refuse: who is refused by one is not asked by the next. */
const ACTIONS = ["AUDIT", "DENY", "ALLOW"] as const;

const keyOf: RbacOptions["keyOf"] = ({ namespace, name }, rule) => `ns[${namespace}]-policy[${name}]-rule[${rule}]`;

/** For servers without a proxy. gRPC knows neither trials nor tokens. */
export function buildGrpcAccessFilters(
  view: ProxyView,
  onFailed: (policy: FailedObject) => void = () => undefined,
): readonly HttpFilter[] {
  const failed = createFailedPolicies();
  const policies = selectPolicies(view, "AuthorizationPolicy");
  const options: RbacOptions = { mesh: view.snapshot.mesh, layer: "grpc", failed, keyOf: grpcKeyOf };
  const filters = (["CUSTOM", "DENY", "ALLOW"] as const).flatMap((action) => {
    const rules = buildRbac(policies, action, options)?.rules;
    if (rules === undefined) return [];
    return [
      { name: GRPC_FILTER_NAMES[action], typedConfig: pack("envoy.extensions.filters.http.rbac.v3.RBAC", { rules }) },
    ];
  });
  for (const policy of failed.all) onFailed(policy);
  return filters;
}

/** Names must differ within a chain. */
const GRPC_FILTER_NAMES = {
  CUSTOM: "envoy.filters.http.rbac.CUSTOM",
  DENY: "envoy.filters.http.rbac.DENY",
  ALLOW: "envoy.filters.http.rbac",
} as const;

const grpcKeyOf: RbacOptions["keyOf"] = ({ namespace, name }, rule) => `${namespace}-${name}-${rule}`;
