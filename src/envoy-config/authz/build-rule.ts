import type { AuthorizationRule } from "../../istio-api/specs/security.ts";
import type { Permission, Policy, Principal } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import { type Clause, clauseMatchers, type Layer } from "./clause.ts";
import { allPermissions, notPermission, operationClauses, permissionAttribute } from "./permissions.ts";
import { allPrincipals, notPrincipal, type PrincipalScope, principalAttribute, sourceClauses } from "./principals.ts";

export interface RuleOptions extends PrincipalScope {
  readonly layer: Layer;
  /** Rules that allow get narrower by what cannot be asked; all others get wider. */
  readonly isAllow: boolean;
}

/** Matches nothing: a list of rules that is empty, but there. */
export const NEVER: Policy = { permissions: [{ notRule: { any: true } }], principals: [{ notId: { any: true } }] };

/** Undefined: the rule can match nothing. */
export function buildRule({ from, to, when }: AuthorizationRule, options: RuleOptions): Policy | undefined {
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
