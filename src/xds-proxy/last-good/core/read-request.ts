import { deltaDiscoveryRequest, discoveryRequest } from "../../../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../../xds/methods.ts";
import { needsNames } from "../../../xds/type-urls.ts";

/** What one request says about the client's subscription to a type, in both protocols. */
export interface RequestedNames {
  readonly nonce: string;
  readonly isNack: boolean;
  /** Undefined: wildcard. In delta only the names that are new. */
  readonly names: ReadonlySet<string> | undefined;
  /** Delta only. */
  readonly unsubscribed: ReadonlySet<string>;
  /** Delta: what the client has already. */
  readonly initial: ReadonlySet<string>;
  /** The client comes back with configuration from before. */
  readonly hasVersions: boolean;
}

const WILDCARD = "*";
const NONE: ReadonlySet<string> = new Set();

export function readRequest(kind: XdsProtocol, typeUrl: string, message: Buffer): RequestedNames {
  if (kind === "sotw") {
    const request = discoveryRequest.decode(message);
    return {
      nonce: request.responseNonce,
      isNack: request.errorDetail !== undefined,
      names: namesOf(typeUrl, request.resourceNames),
      unsubscribed: NONE,
      initial: NONE,
      hasVersions: request.versionInfo !== "",
    };
  }
  const request = deltaDiscoveryRequest.decode(message);
  return {
    nonce: request.responseNonce,
    isNack: request.errorDetail !== undefined,
    names: namesOf(typeUrl, request.resourceNamesSubscribe),
    unsubscribed: new Set(request.resourceNamesUnsubscribe),
    initial: new Set(request.initialResourceVersions.keys()),
    hasVersions: request.initialResourceVersions.size > 0,
  };
}

function namesOf(typeUrl: string, names: readonly string[]): ReadonlySet<string> | undefined {
  if (names.includes(WILDCARD)) return undefined;
  return names.length === 0 && !needsNames(typeUrl) ? undefined : new Set(names);
}
