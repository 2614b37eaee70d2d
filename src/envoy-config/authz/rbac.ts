import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { AuthorizationRule } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { selects } from "../../mesh-model/selector.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { Permission, Policy, Principal, RBAC } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { type Clause, clauseMatchers, type Layer } from "./clause.ts";
import { type FailedPolicies, insteadOf, NEVER } from "./failed-policies.ts";
import { allPermissions, notPermission, operationClauses, permissionAttribute } from "./permissions.ts";
import { allPrincipals, notPrincipal, type PrincipalScope, principalAttribute, sourceClauses } from "./principals.ts";

type AuthorizationPolicy = ConfigObject<"AuthorizationPolicy">;
type Action = AuthorizationPolicy["spec"]["action"];

/** What the filters for HTTP and for TCP have in common. */
export interface RbacSettings {
  readonly rules?: RBAC;
  readonly shadowRules?: RBAC;
  readonly shadowRulesStatPrefix?: string;
}

export interface RbacOptions {
  readonly mesh: Pick<MeshSettings, "trustDomain" | "trustDomainAliases">;
  readonly layer: Layer;
  readonly failed: FailedPolicies;
  keyOf(policy: AuthorizationPolicy, rule: number): string;
}

/**
 * All policies of one action. Those on trial are evaluated and counted, and decide nothing. Where no provider can be asked about CUSTOM ones,
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
      shadowRules: buildRules(trials, action, options, true),
      shadowRulesStatPrefix: `istio_dry_run_${action === "ALLOW" ? "allow" : "deny"}_`,
    }),
  };
}

/** One that cannot be built costs the others nothing. */
export function buildRules(
  policies: readonly AuthorizationPolicy[],
  action: Action,
  options: RbacOptions,
  isTrial = false,
): RBAC {
  const { failed, keyOf } = options;
  const built = policies.flatMap((policy) => {
    const { value, text } = insteadOf(action, isTrial);
    return failed.orInstead(policy, () => buildPolicies(policy, options), { value: [[keyOf(policy, 0), value]], text });
  });
  return { ...ENVOY_ACTION[action], policies: Object.fromEntries(built) };
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

interface RuleOptions extends PrincipalScope {
  readonly layer: Layer;
  /** Rules that allow get narrower by what cannot be asked; all others get wider. */
  readonly isAllow: boolean;
}

/** Undefined: the rule can match nothing. */
function buildRule({ from, to, when }: AuthorizationRule, options: RuleOptions): Policy | undefined {
  const { layer } = options;
  const onUnknown = options.isAllow ? "drop-rule" : "ignore";
  const called: Clause<Permission>[] = [];
  const calling: Clause<Principal>[] = [];
  for (const { key, values, notValues } of when) {
    const permission = permissionAttribute(key);
    if (permission !== undefined) called.push({ attribute: permission, values, notValues });
    else calling.push({ attribute: principalAttribute(key, options), values, notValues });
  }
  const operations = to.length > 0 ? to.map(({ operation }) => (operation ? operationClauses(operation) : [])) : [[]];
  const sources = from.length > 0 ? from.map(({ source }) => (source ? sourceClauses(source, options) : [])) : [[]];
  const permissions = operations.map((own) =>
    clauseMatchers([...own, ...called], { layer, onUnknown, not: notPermission }),
  );
  const principals = sources.map((own) =>
    clauseMatchers([...own, ...calling], { layer, onUnknown, not: notPrincipal }),
  );
  if (!isComplete(permissions) || !isComplete(principals)) return undefined;
  return { permissions: permissions.map(allPermissions), principals: principals.map(allPrincipals) };
}

function isComplete<Item>(items: readonly (Item | undefined)[]): items is readonly Item[] {
  return !items.includes(undefined);
}

export function httpRbac(settings: RbacSettings): HttpFilter {
  return {
    name: "envoy.filters.http.rbac",
    typedConfig: pack("envoy.extensions.filters.http.rbac.v3.RBAC", settings),
  };
}

export function networkRbac(settings: RbacSettings): Filter {
  return {
    name: "envoy.filters.network.rbac",
    typedConfig: pack("envoy.extensions.filters.network.rbac.v3.RBAC", { ...settings, statPrefix: "tcp." }),
  };
}

type Kind = "AuthorizationPolicy" | "RequestAuthentication";

/** The part of a view that access to its workload follows from. */
export interface AccessView extends Pick<ProxyView, "snapshot" | "outbound"> {
  readonly node: Pick<ProxyNode, "namespace" | "labels">;
}

/**
 * Policies for the view's workload. Those that name a target are for gateways. The root namespace's come first, but of several that
 * know one issuer the workload's own is tried first.
 */
export function selectPolicies<Of extends Kind>({ node, snapshot }: AccessView, kind: Of): readonly ConfigObject<Of>[] {
  const { rootNamespace } = snapshot.mesh;
  const namespaces = [...new Set([rootNamespace, node.namespace])];
  return (kind === "RequestAuthentication" ? namespaces.toReversed() : namespaces)
    .flatMap((namespace) => snapshot.configs.list(kind, namespace))
    .filter(({ spec }) => {
      const { selector, targetRef, targetRefs } = spec;
      return targetRef === undefined && targetRefs.length === 0 && selects(selector?.matchLabels ?? {}, node.labels);
    });
}
