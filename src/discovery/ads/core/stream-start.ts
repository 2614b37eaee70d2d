import type { ProxyNode } from "../../../mesh-model/proxy/proxy-node.ts";
import { parseSpiffe } from "../../../mesh-model/workload-identity.ts";
import type { Node } from "../../../protobuf/wire/discovery.ts";
import { HEALTH_TYPE } from "../../../xds/type-urls.ts";

/** What the first messages of a stream have to bring before the client can be answered. */
export type FirstRequest<NodeMessage> =
  | { readonly step: "skip" }
  | { readonly step: "refuse"; readonly reason: string }
  | { readonly step: "begin"; readonly node: NodeMessage };

/** Only the first request has to carry a node; health reports that come before it belong to no node. */
export function firstRequest(request: {
  readonly typeUrl: string;
  readonly node: Partial<Node> | undefined;
}): FirstRequest<Partial<Node>> {
  if (request.typeUrl === HEALTH_TYPE) return { step: "skip" };
  if (request.node === undefined || (request.node.id ?? "") === "") {
    return { step: "refuse", reason: "missing node information" };
  }
  return { step: "begin", node: request.node };
}

/**
 * Whether who the client proved to be may have the configuration of the node it claims to be: namespace and, where the node names one,
 * service account must be those of its identity. Returns the matching identity, or why there is none.
 */
export function checkIdentity(
  identities: readonly string[],
  node: Pick<ProxyNode, "namespace" | "serviceAccount">,
): { readonly verified: string } | { readonly refusal: string } {
  const verified = identities.find((identity) => {
    const parsed = parseSpiffe(identity);
    if (parsed === undefined || parsed.namespace !== node.namespace) return false;
    return node.serviceAccount === "" || parsed.serviceAccount === node.serviceAccount;
  });
  if (verified !== undefined) return { verified };
  const claimed = `${node.namespace}/${node.serviceAccount}`;
  return { refusal: `authorization failed: no identities ([${identities.join(" ")}]) matched ${claimed}` };
}

/** A bucket that fills at a steady rate; each new stream takes one token, later ones in advance. */
export interface StreamRate {
  readonly tokens: number;
  readonly at: number;
}

export interface StreamRateLimits {
  readonly perSecond: number;
  readonly burst: number;
  /** A stream that would have to wait longer is refused. */
  readonly maxWaitMs: number;
}

export const fullRate = ({ burst }: StreamRateLimits, now: number): StreamRate => ({ tokens: burst, at: now });

/** How long the next stream has to wait; undefined when that is too long, and then it takes nothing. */
export function takeStream(
  rate: StreamRate,
  limits: StreamRateLimits,
  now: number,
): { readonly rate: StreamRate; readonly waitMs: number | undefined } {
  const tokens = Math.min(limits.burst, rate.tokens + ((now - rate.at) * limits.perSecond) / 1000);
  const waitMs = tokens >= 1 ? 0 : ((1 - tokens) * 1000) / limits.perSecond;
  if (waitMs > limits.maxWaitMs) return { rate: { tokens, at: now }, waitMs: undefined };
  return { rate: { tokens: tokens - 1, at: now }, waitMs };
}
