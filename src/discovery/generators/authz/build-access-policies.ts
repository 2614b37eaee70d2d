import { pack } from "../../../protocol/envoy/index.ts";
import type { ProxyView } from "../../snapshot/push-snapshot.ts";
import { buildJwtFilters } from "../jwt/index.ts";
import type { InboundPolicies } from "../listeners.ts";
import { ACTIONS, buildRbac, type RbacOptions } from "./build-rbac.ts";
import { selectPolicies } from "./select-policies.ts";

export interface AccessPolicies extends InboundPolicies {
  /** What rules ask for and nobody can do; access is narrower for it, never wider. */
  readonly problems: readonly string[];
}

/** What AuthorizationPolicy and RequestAuthentication objects put in front of a workload. Of the node, namespace and labels are read. */
export function buildAccessPolicies(view: ProxyView): AccessPolicies {
  const policies = selectPolicies(view, "AuthorizationPolicy");
  const jwt = buildJwtFilters(selectPolicies(view, "RequestAuthentication"));
  const rbacs = (layer: RbacOptions["layer"]) =>
    ACTIONS.flatMap((action) => buildRbac(policies, action, { mesh: view.snapshot.mesh, layer, keyOf }) ?? []);
  return {
    http: [
      ...jwt.filters,
      ...rbacs("http").map((settings) => ({
        name: "envoy.filters.http.rbac",
        typedConfig: pack("envoy.extensions.filters.http.rbac.v3.RBAC", settings),
      })),
    ],
    network: rbacs("tcp").map((settings) => ({
      name: "envoy.filters.network.rbac",
      typedConfig: pack("envoy.extensions.filters.network.rbac.v3.RBAC", { ...settings, statPrefix: "tcp." }),
    })),
    problems: [
      ...jwt.problems,
      ...policies
        .filter(({ spec }) => spec.action === "CUSTOM")
        .map(
          ({ namespace, name, spec }) =>
            `AuthorizationPolicy ${namespace}/${name} asks provider ${JSON.stringify(spec.provider?.name ?? "")}, ` +
            "which cannot be asked: what it matches is denied",
        ),
    ],
  };
}

const keyOf: RbacOptions["keyOf"] = ({ namespace, name }, rule) => `ns[${namespace}]-policy[${name}]-rule[${rule}]`;
