import { deltaDiscoveryRequest, discoveryRequest } from "../../protobuf/wire/discovery.ts";

/** State of the world or incremental: the two forms of the aggregated stream. */
export type ProtocolKind = "sotw" | "delta";

const SERVICE = "/envoy.service.discovery.v3.AggregatedDiscoveryService";

export const STREAM_PATHS: Readonly<Record<ProtocolKind, string>> = {
  sotw: `${SERVICE}/StreamAggregatedResources`,
  delta: `${SERVICE}/DeltaAggregatedResources`,
};

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

/** No node: the client's own first message has told it. */
export function encodeAgentRequest(kind: ProtocolKind, request: AgentRequest): Buffer {
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
