import type { EnvoyPatch } from "../../istio-api/specs.ts";
import type { ConfigSnapshot } from "../config-store.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import type { Policy, PolicyKind } from "../push-snapshot.ts";

const OUTBOUND_POLICIES: readonly PolicyKind[] = ["EnvoyFilter", "Telemetry", "ProxyConfig", "WasmPlugin"];
const INBOUND_POLICIES: readonly PolicyKind[] = [
  ...OUTBOUND_POLICIES,
  "AuthorizationPolicy",
  "RequestAuthentication",
  "PeerAuthentication",
];

/** Policies that may reach workloads of a namespace, the root namespace's first. */
export function policiesFor(
  direction: "inbound" | "outbound",
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  namespace: string,
): readonly Policy[] {
  const kinds = direction === "inbound" ? INBOUND_POLICIES : OUTBOUND_POLICIES;
  const namespaces = namespace === rootNamespace ? [namespace] : [rootNamespace, namespace];
  return kinds.flatMap((kind) => namespaces.flatMap((owner) => configs.list(kind, owner) as readonly Policy[]));
}

/** A router is a server to clients that no other proxy speaks for, so that rules on callers are for it as well. */
export function policyDirection({ type }: { readonly type: "sidecar" | "router" }): "inbound" | "outbound" {
  return type === "router" ? "inbound" : "outbound";
}

/** Labels by which policies choose workloads. */
export function selectorLabels(policies: readonly Policy[]): readonly string[] {
  return policies.flatMap((policy) => {
    if (policy.kind === "EnvoyFilter") return Object.keys(policy.spec.workloadSelector?.labels ?? {});
    return Object.keys(policy.spec.selector?.matchLabels ?? {});
  });
}

/** What a patch asks of the proxy itself, beyond labels. */
export type ProxyCondition = NonNullable<NonNullable<EnvoyPatch["match"]>["proxy"]>;

/** Expressions for versions are short; a long one is not worth the cost of compiling it. */
const MAX_VERSION_LENGTH = 1024;

/** Equal for equal conditions, empty where there is none. */
export function conditionKey(condition: ProxyCondition | undefined): string {
  if (condition === undefined) return "";
  const { proxyVersion, metadata } = condition;
  const members = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return proxyVersion === "" && members.length === 0 ? "" : JSON.stringify([proxyVersion, ...members]);
}

/** Of all patches among the policies, by their keys. */
export function proxyConditions(policies: readonly Policy[]): ReadonlyMap<string, ProxyCondition> {
  const conditions = new Map<string, ProxyCondition>();
  for (const policy of policies) {
    if (policy.kind !== "EnvoyFilter") continue;
    for (const { match } of policy.spec.configPatches) {
      const key = conditionKey(match?.proxy);
      if (match?.proxy !== undefined && key !== "") conditions.set(key, match.proxy);
    }
  }
  return conditions;
}

const NONE: readonly string[] = [];

/** The keys of those that the node meets, in order: nodes that meet the same are alike. */
export function metConditions(
  node: Pick<ProxyNode, "istioVersion" | "metadata">,
  conditions: ReadonlyMap<string, ProxyCondition>,
): readonly string[] {
  if (conditions.size === 0) return NONE;
  return [...conditions].flatMap(([key, condition]) => (meets(node, condition) ? [key] : [])).sort();
}

function meets(
  { istioVersion, metadata }: Pick<ProxyNode, "istioVersion" | "metadata">,
  condition: ProxyCondition,
): boolean {
  const { proxyVersion } = condition;
  if (proxyVersion !== "" && !hasVersion(istioVersion, proxyVersion)) return false;
  return Object.entries(condition.metadata).every(([name, value]) => metadata[name] === value);
}

function hasVersion(version: string, pattern: string): boolean {
  if (version === "" || pattern.length > MAX_VERSION_LENGTH) return false;
  try {
    return new RegExp(pattern).test(version);
  } catch {
    return false;
  }
}
