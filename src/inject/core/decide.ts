import { PROXY_CONTAINER } from "./context.ts";
import { asObject, type Json, objects, textMap } from "./json.ts";
import { type LabelSelector, matchesSelector } from "./label-selector.ts";
import type { InjectionRules } from "./rules.ts";

const INJECT_SETTING = "sidecar.istio.io/inject";

/** Which rule decided. */
export type DecidedBy =
  | "host-network"
  | "already-injected"
  | "system-namespace"
  | "label"
  | "annotation"
  | "never-selector"
  | "always-selector"
  | "policy"
  | "unknown-policy";

export interface Decision {
  readonly inject: boolean;
  readonly by: DecidedBy;
  /** For a person: which label, selector or policy won, and its value. */
  readonly reason: string;
  /** Settings that could not be used. */
  readonly warnings: readonly string[];
}

export interface InjectionPolicy {
  readonly policy: string;
  readonly neverInjectSelector: readonly LabelSelector[];
  readonly alwaysInjectSelector: readonly LabelSelector[];
}

/** Whether a pod gets a proxy: the first rule that applies decides. */
export function decideInjection(
  pod: { readonly metadata?: unknown; readonly spec?: unknown },
  namespace: string,
  config: InjectionPolicy,
  rules: InjectionRules,
): Decision {
  const metadata = asObject(pod.metadata);
  if (asObject(pod.spec).hostNetwork === true) {
    return decision(false, "host-network", "spec.hostNetwork is true: capture would change the node's own network");
  }
  const containers = objects(asObject(pod.spec).containers);
  if (rules.skipsInjected && containers.length > 1 && containers.some(({ name }) => name === PROXY_CONTAINER)) {
    return decision(false, "already-injected", `there is a container ${PROXY_CONTAINER} already`);
  }
  if (rules.ignoredNamespaces.includes(namespace)) {
    return decision(false, "system-namespace", `namespace ${namespace} is never injected`);
  }
  const explicit = explicitSetting(metadata, rules);
  if (!isKnownPolicy(config.policy)) {
    const reason = `policy is ${JSON.stringify(config.policy)}, allowed are enabled, disabled: nothing is injected`;
    return decision(false, "unknown-policy", reason, explicit.warnings);
  }
  if (explicit.value !== undefined) return { ...explicit.value, warnings: explicit.warnings };
  const labels = textMap(metadata.labels);
  const warnings = [...explicit.warnings];
  for (const [by, selectors] of [
    ["never-selector", config.neverInjectSelector],
    ["always-selector", config.alwaysInjectSelector],
  ] as const) {
    const name = by === "never-selector" ? "neverInjectSelector" : "alwaysInjectSelector";
    for (const [index, selector] of selectors.entries()) {
      const matched = matchesSelector(selector, labels);
      if (typeof matched === "string") warnings.push(`${name}[${index}] is not used: ${matched}`);
      if (matched !== true) continue;
      const reason = `${name}[${index}] ${JSON.stringify(selector)} matches the pod's labels`;
      return decision(by === "always-selector", by, reason, warnings);
    }
  }
  const none = "neither label, annotation nor selector says otherwise";
  return decision(config.policy === "enabled", "policy", `policy is ${config.policy} and ${none}`, warnings);
}

function isKnownPolicy(policy: string): boolean {
  return policy === "enabled" || policy === "disabled";
}

function decision(inject: boolean, by: DecidedBy, reason: string, warnings: readonly string[] = []): Decision {
  return { inject, by, reason, warnings };
}

interface Explicit {
  readonly value?: { readonly inject: boolean; readonly by: DecidedBy; readonly reason: string };
  readonly warnings: readonly string[];
}

/** The label of the pod, or the annotation of the same name where there is no such label. */
function explicitSetting(metadata: Json, rules: InjectionRules): Explicit {
  const label = rules.readsInjectLabel ? textMap(metadata.labels)[INJECT_SETTING] : undefined;
  const annotation = textMap(metadata.annotations)[INJECT_SETTING];
  const [by, value] = label !== undefined ? (["label", label] as const) : (["annotation", annotation] as const);
  if (value === undefined || value === "") return { warnings: [] };
  const beaten =
    by === "label" && annotation !== undefined && annotation !== value ? `, the annotation says ${annotation}` : "";
  const settled = (inject: boolean): Explicit => ({
    value: { inject, by, reason: `${by} ${INJECT_SETTING} is ${value}${beaten}` },
    warnings: [],
  });
  if (rules.injectWords === "any-case") return settled(/^(?:y|yes|true|on)$/i.test(value));
  if (value === "true" || value === "false") return settled(value === "true");
  const problem = `Only 'true' and 'false' are accepted for ${by} ${INJECT_SETTING}, it is ${JSON.stringify(value)} and has no effect`;
  return { warnings: [problem] };
}
