import type { PortTrafficPolicy, Subset, TrafficPolicy } from "../../istio-api/specs.ts";
import type { DefaultTrafficPolicy } from "../../mesh-model/mesh-settings.ts";
import type { AppliedDestinationRule } from "../../mesh-model/push-snapshot.ts";
import { madeOf } from "./attempt.ts";

/** A policy in which the settings of one port are already worked in. */
export type EffectivePolicy = Omit<TrafficPolicy, "portLevelSettings">;

/**
 * What holds for one port of one subset. A subset overrides the rule member by member. Settings of a port replace all that their own
 * level says: what they leave out falls to the default. Those of a subset also replace the rule's load balancer, pool, outlier
 * detection and TLS; tunnel, proxy protocol and retry budget, which have no port level, stay the rule's. Clusters also know the
 * mesh's defaults for what the rule itself leaves out.
 */
export function effectivePolicy(
  rule: AppliedDestinationRule | undefined,
  port: number,
  subset: string,
  defaults: DefaultTrafficPolicy = NO_POLICY,
): EffectivePolicy {
  return rule === undefined ? defaults : madeOf(rule.object, () => policyOf(rule, port, subset, defaults));
}

function policyOf(
  rule: AppliedDestinationRule,
  port: number,
  subset: string,
  defaults: DefaultTrafficPolicy,
): EffectivePolicy {
  const base = { ...defaults, ...atPort(rule.spec.trafficPolicy, port) };
  const own = subset === "" ? undefined : findSubset(rule, subset)?.trafficPolicy;
  if (own === undefined) return base;
  const settings = portSettings(own, port);
  if (settings === undefined) return { ...base, ...given(own) };
  const { tunnel, proxyProtocol, retryBudget } = base;
  return given({ tunnel, proxyProtocol, retryBudget, ...fourOf(settings) });
}

export function findSubset(rule: AppliedDestinationRule | undefined, name: string): Subset | undefined {
  return rule?.spec.subsets.find((subset) => subset.name === name);
}

const NO_POLICY: EffectivePolicy = Object.freeze({});

function atPort(policy: TrafficPolicy | undefined, port: number): EffectivePolicy {
  if (policy === undefined) return NO_POLICY;
  const settings = portSettings(policy, port);
  return settings === undefined ? policy : given(fourOf(settings));
}

/** The first of several, as the validation's warning says. */
function portSettings(policy: TrafficPolicy, port: number): PortTrafficPolicy | undefined {
  return policy.portLevelSettings.find((settings) => settings.port?.number === port);
}

function fourOf({ loadBalancer, connectionPool, outlierDetection, tls }: PortTrafficPolicy) {
  return { loadBalancer, connectionPool, outlierDetection, tls };
}

/** Only members that are there, so that spreading one policy over another erases nothing. */
function given(policy: Members): EffectivePolicy {
  const { loadBalancer, connectionPool, outlierDetection, tls, tunnel, proxyProtocol, retryBudget } = policy;
  return {
    ...(loadBalancer && { loadBalancer }),
    ...(connectionPool && { connectionPool }),
    ...(outlierDetection && { outlierDetection }),
    ...(tls && { tls }),
    ...(tunnel && { tunnel }),
    ...(proxyProtocol && { proxyProtocol }),
    ...(retryBudget && { retryBudget }),
  };
}

type Members = { readonly [Name in keyof EffectivePolicy]?: EffectivePolicy[Name] | undefined };
