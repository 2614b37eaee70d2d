import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { Policy, RBAC } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import { buildRule, NEVER } from "./build-rule.ts";
import type { Layer } from "./clause.ts";

type AuthorizationPolicy = ConfigObject<"AuthorizationPolicy">;
export type Action = AuthorizationPolicy["spec"]["action"];

/** What the filters for HTTP and for TCP have in common. */
export interface RbacSettings {
  readonly rules?: RBAC;
  readonly shadowRules?: RBAC;
  readonly shadowRulesStatPrefix?: string;
}

export interface RbacOptions {
  readonly mesh: Pick<MeshSettings, "trustDomain" | "trustDomainAliases">;
  readonly layer: Layer;
  keyOf(policy: AuthorizationPolicy, rule: number): string;
}

/**
 * All policies of one action. Those on trial are evaluated and counted, and decide nothing. Where nobody can be asked about CUSTOM ones,
 * what they match is denied, on trial or not.
 */
export function buildRbac(
  policies: readonly AuthorizationPolicy[],
  action: Action,
  options: RbacOptions,
): RbacSettings | undefined {
  const chosen = policies.filter(({ spec }) => spec.action === action);
  if (chosen.length === 0) return undefined;
  const isTrial = (policy: AuthorizationPolicy) => action !== "CUSTOM" && isDryRun(policy);
  const [trials, enforced] = [chosen.filter(isTrial), chosen.filter((policy) => !isTrial(policy))];
  return {
    ...(enforced.length > 0 && { rules: buildRules(enforced, action, options) }),
    ...(trials.length > 0 && {
      shadowRules: buildRules(trials, action, options),
      shadowRulesStatPrefix: `istio_dry_run_${action === "ALLOW" ? "allow" : "deny"}_`,
    }),
  };
}

export function buildRules(policies: readonly AuthorizationPolicy[], action: Action, options: RbacOptions): RBAC {
  return {
    ...ENVOY_ACTION[action],
    policies: Object.fromEntries(policies.flatMap((policy) => buildPolicies(policy, options))),
  };
}

/** ALLOW is what absence means. */
const ENVOY_ACTION: Readonly<Record<Action, Pick<RBAC, "action">>> = {
  CUSTOM: { action: "DENY" },
  AUDIT: { action: "LOG" },
  DENY: { action: "DENY" },
  ALLOW: {},
};

function buildPolicies(object: AuthorizationPolicy, options: RbacOptions): readonly (readonly [string, Policy])[] {
  const { namespace, spec } = object;
  const { mesh, layer, keyOf } = options;
  // Rules of a policy that has none match nothing, which makes ALLOW deny everything.
  if (spec.rules.length === 0) return [[keyOf(object, 0), NEVER]];
  const { trustDomain, trustDomainAliases } = mesh;
  return spec.rules.flatMap((rule, index) => {
    const isAllow = spec.action === "ALLOW";
    const policy = buildRule(rule, { namespace, trustDomain, trustDomainAliases, layer, isAllow });
    return policy === undefined ? [] : [[keyOf(object, index), policy] as const];
  });
}

/** As Go reads a boolean; everything else is no. */
export function isDryRun({ annotations }: AuthorizationPolicy): boolean {
  return ["1", "t", "T", "true", "TRUE", "True"].includes(annotations["istio.io/dry-run"] ?? "");
}
