import { buildJwtFilters } from "../jwt/index.ts";
import type { InboundPolicies } from "../listeners.ts";
import { buildRbac, type RbacOptions } from "./build-rbac.ts";
import { buildCustomFilters } from "./custom-filters.ts";
import { httpRbac, networkRbac } from "./rbac-filters.ts";
import { type AccessView, selectPolicies } from "./select-policies.ts";

export interface AccessPolicies extends InboundPolicies {
  /** What rules ask for and nobody can do; access is narrower for it, never wider. */
  readonly problems: readonly string[];
}

/** What AuthorizationPolicy and RequestAuthentication objects put in front of a workload. Of the node, namespace and labels are read. */
export function buildAccessPolicies(view: AccessView): AccessPolicies {
  const policies = selectPolicies(view, "AuthorizationPolicy");
  const jwt = buildJwtFilters(
    selectPolicies(view, "RequestAuthentication"),
    view.snapshot.tokenKeys,
    view.outbound.traits.type,
  );
  const custom = buildCustomFilters(view, policies);
  const rbacs = (layer: RbacOptions["layer"]) =>
    ACTIONS.flatMap((action) => buildRbac(policies, action, { mesh: view.snapshot.mesh, layer, keyOf }) ?? []);
  return {
    // Providers first: what they add to a request may be the token that is then looked at.
    http: [...custom.http, ...jwt, ...rbacs("http").map(httpRbac)],
    network: [...custom.network, ...rbacs("tcp").map(networkRbac)],
    problems: custom.problems,
  };
}

/** Before what they may still refuse: who is refused by one is not asked by the next. */
const ACTIONS = ["AUDIT", "DENY", "ALLOW"] as const;

const keyOf: RbacOptions["keyOf"] = ({ namespace, name }, rule) => `ns[${namespace}]-policy[${name}]-rule[${rule}]`;
