import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ConfigSnapshot } from "../config-store.ts";
import { type TokenKeys, tokenKeysName } from "../token-keys.ts";

/** Kinds whose objects of the root namespace and the own namespace reach a workload, most of them by labels. */
const OUTBOUND_POLICIES = ["EnvoyFilter", "Telemetry", "ProxyConfig"] as const;
const INBOUND_POLICIES = [
  ...OUTBOUND_POLICIES,
  "AuthorizationPolicy",
  "RequestAuthentication",
  "PeerAuthentication",
] as const;

type PolicyKind = (typeof INBOUND_POLICIES)[number];
export type Policy = { [Of in PolicyKind]: ConfigObject<Of> }[PolicyKind];

/** Policies that may reach workloads of a namespace, the root namespace's first. */
export function policiesFor(
  direction: "inbound" | "outbound",
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  namespace: string,
): readonly Policy[] {
  const kinds: readonly PolicyKind[] = direction === "inbound" ? INBOUND_POLICIES : OUTBOUND_POLICIES;
  const namespaces = namespace === rootNamespace ? [namespace] : [rootNamespace, namespace];
  return kinds.flatMap((kind) => namespaces.flatMap((place) => configs.list(kind, place) as readonly Policy[]));
}

/** A router is a server to clients that no other proxy speaks for, so that rules on callers are for it as well. */
export function policyDirection({ type }: { readonly type: "sidecar" | "router" }): "inbound" | "outbound" {
  return type === "router" ? "inbound" : "outbound";
}

/** Fetched keys that policies check tokens with; undefined where they are not there. */
export function keysFor(policies: readonly Policy[], fetched: TokenKeys): readonly (string | undefined)[] {
  return policies
    .flatMap((policy) => (policy.kind === "RequestAuthentication" ? policy.spec.jwtRules : []))
    .flatMap((rule) => tokenKeysName(rule) ?? [])
    .map((name) => fetched.get(name));
}

/** Labels by which policies choose workloads. */
export function selectorLabels(policies: readonly Policy[]): readonly string[] {
  return policies.flatMap((policy) => {
    if (policy.kind === "EnvoyFilter") return Object.keys(policy.spec.workloadSelector?.labels ?? {});
    return Object.keys(policy.spec.selector?.matchLabels ?? {});
  });
}
