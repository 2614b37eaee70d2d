import { deltaDiscoveryRequest, discoveryRequest } from "../../../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../../xds/methods.ts";
import { CLUSTER_TYPE, LISTENER_TYPE, WORKLOAD_TYPE } from "../../../xds/type-urls.ts";

/** What one request says about the client's interest in a type, in both protocols. */
export interface Subscription {
  readonly nonce: string;
  readonly isNack: boolean;
  /** Undefined: all there are. In delta only the names that are new. */
  readonly names: ReadonlySet<string> | undefined;
  /** Delta: names the client does not want any more. */
  readonly dropped: ReadonlySet<string>;
  /** Delta: what the client has already. */
  readonly initial: ReadonlySet<string>;
  /** The client comes back with configuration from before. */
  readonly hasVersions: boolean;
}

const WILDCARD = "*";
const NONE: ReadonlySet<string> = new Set();
/** Without names these mean everything; the others are asked for by name. */
const WHOLE_TYPES: ReadonlySet<string> = new Set([CLUSTER_TYPE, LISTENER_TYPE, WORKLOAD_TYPE]);

export function subscriptionOf(kind: XdsProtocol, typeUrl: string, message: Buffer): Subscription {
  if (kind === "sotw") {
    const request = discoveryRequest.decode(message);
    return {
      nonce: request.responseNonce,
      isNack: request.errorDetail !== undefined,
      names: namesOf(typeUrl, request.resourceNames),
      dropped: NONE,
      initial: NONE,
      hasVersions: request.versionInfo !== "",
    };
  }
  const request = deltaDiscoveryRequest.decode(message);
  return {
    nonce: request.responseNonce,
    isNack: request.errorDetail !== undefined,
    names: namesOf(typeUrl, request.resourceNamesSubscribe),
    dropped: new Set(request.resourceNamesUnsubscribe),
    initial: new Set(request.initialResourceVersions.keys()),
    hasVersions: request.initialResourceVersions.size > 0,
  };
}

function namesOf(typeUrl: string, names: readonly string[]): ReadonlySet<string> | undefined {
  if (names.includes(WILDCARD)) return undefined;
  return names.length === 0 && WHOLE_TYPES.has(typeUrl) ? undefined : new Set(names);
}
