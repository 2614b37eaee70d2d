import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { Policy } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import { describeFailure, type FailedObject } from "../shared/attempt.ts";

/** Takes down the policies of a workload that cannot be built, each once: rules are built for several layers. */
export interface FailedPolicies {
  readonly all: readonly FailedObject[];
  /** The result of `build`; where it fails, what stands for it: never wider than what the policy may have said. */
  orInstead<Built>(policy: ConfigObject, build: () => Built, instead: Instead<Built>): Built;
}

interface Instead<Built> {
  readonly value: Built;
  /** The same in words. */
  readonly text: string;
}

export function createFailedPolicies(): FailedPolicies {
  const all: FailedObject[] = [];
  return {
    all,
    orInstead(policy, build, { value, text }) {
      try {
        return build();
      } catch (thrown) {
        const { kind, namespace, name } = policy;
        const failed = {
          object: { kind, namespace, name },
          reason: `${describeFailure(thrown, policy).reason}: ${text}`,
        };
        const isSame = ({ object, reason }: FailedObject) =>
          object.kind === kind && object.namespace === namespace && object.name === name && reason === failed.reason;
        if (!all.some(isSame)) all.push(failed);
        return value;
      }
    },
  };
}

/** Matches nothing: as if its rules were empty, but there. */
export const NEVER: Policy = { permissions: [{ notRule: { any: true } }], principals: [{ notId: { any: true } }] };

const ALWAYS: Policy = { permissions: [{ any: true }], principals: [{ any: true }] };

/**
 * What stands for a policy that cannot be built: one that allows opens nothing, but is there, so that what it alone would have allowed is
 * denied; one that denies or asks a provider may have been about any request, so that it is about each.
 */
export function insteadOf(
  action: ConfigObject<"AuthorizationPolicy">["spec"]["action"],
  isTrial: boolean,
): Instead<Policy> {
  if (isTrial || action === "AUDIT") return { value: NEVER, text: "the policy cannot be built and has no effect" };
  if (action === "ALLOW") return { value: NEVER, text: "the policy cannot be built and allows nothing" };
  if (action === "DENY") return { value: ALWAYS, text: "the policy cannot be built and denies everything" };
  return { value: ALWAYS, text: "the policy cannot be built and is applied to every request" };
}
