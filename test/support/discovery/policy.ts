import { type EffectivePolicy, effectivePolicy } from "../../../src/envoy-config/shared/traffic-policy.ts";
import { parseConfigText } from "../../../src/istio-api/decode/parse-config-text.ts";
import type { AppliedDestinationRule } from "../../../src/mesh-model/push-snapshot.ts";

/** A DestinationRule's spec, written as in a file; throws when it would be refused. */
export function ruleOf(spec: string): AppliedDestinationRule {
  const text = `apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: r}\nspec: \n  ${spec.trim()}`;
  const { objects, problems } = parseConfigText(text);
  const [object] = objects;
  if (object?.kind !== "DestinationRule") throw new Error(`${problems.map(({ message }) => message)}: ${text}`);
  return { object, objects: [object], spec: object.spec };
}

/** The policy that `{tls: {mode: SIMPLE}}` and the like give to every port. */
export function policyOf(trafficPolicy: string): EffectivePolicy {
  return effectivePolicy(ruleOf(`host: a\n  trafficPolicy: ${trafficPolicy}`), 80, "");
}
