import { deltaDiscoveryRequest, discoveryRequest } from "../../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../xds/methods.ts";

/** What the agent itself asks or answers, before it takes the form of the stream. */
export interface AgentRequest {
  readonly typeUrl: string;
  readonly responseNonce?: string;
  /** Only state of the world has it. */
  readonly versionInfo?: string;
  readonly resourceNames?: readonly string[];
  /** Only delta has it. */
  readonly unsubscribe?: readonly string[];
  readonly error?: { readonly code: number; readonly message: string };
}

/** Without a node: the client's own first message has sent it. */
export function encodeAgentRequest(kind: XdsProtocol, request: AgentRequest): Buffer {
  const { typeUrl, responseNonce = "", versionInfo = "", resourceNames = [], unsubscribe = [], error } = request;
  if (kind === "sotw") {
    return discoveryRequest.encode({ typeUrl, responseNonce, versionInfo, resourceNames, errorDetail: error });
  }
  return deltaDiscoveryRequest.encode({
    typeUrl,
    responseNonce,
    resourceNamesSubscribe: resourceNames,
    resourceNamesUnsubscribe: unsubscribe,
    errorDetail: error,
  });
}
