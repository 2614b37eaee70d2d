import { errorMessage } from "../base/coded-error.ts";
import { deltaDiscoveryResponse, discoveryResponse } from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import type { AgentRequest } from "./core/agent-request.ts";
import type { InternalHandler } from "./options.ts";

const INTERNAL = 13;

interface InternalResponse {
  readonly versionInfo: string;
  readonly nonce: string;
  /** The first resource; the agent's types have one. */
  readonly first: { readonly typeUrl: string; readonly value: Buffer } | undefined;
}

export interface InternalAnswer {
  readonly request: AgentRequest;
  /** What the handler was given, and accepted unless the request has an error. */
  readonly resource: InternalResponse["first"];
}

/**
 * Gives a response of one of the agent's own types to its handler and says how to answer: an ACK, also for an empty response, or a NACK
 * that keeps the version accepted before.
 */
export function answerInternal(
  kind: XdsProtocol,
  handler: InternalHandler,
  message: Buffer,
  acceptedVersion: string,
): InternalAnswer {
  const { typeUrl } = handler;
  let nonce = "";
  let resource: InternalResponse["first"];
  try {
    const response = decode(kind, message);
    nonce = response.nonce;
    resource = response.first;
    if (resource !== undefined) {
      if (resource.typeUrl !== typeUrl) {
        throw new Error(`mismatched message type: got "${resource.typeUrl}" want "${typeUrl}"`);
      }
      handler.handle(resource.value);
    }
    return { request: { typeUrl, responseNonce: nonce, versionInfo: response.versionInfo }, resource };
  } catch (failure) {
    const error = { code: INTERNAL, message: errorMessage(failure) };
    return { request: { typeUrl, responseNonce: nonce, versionInfo: acceptedVersion, error }, resource };
  }
}

function decode(kind: XdsProtocol, message: Buffer): InternalResponse {
  if (kind === "sotw") {
    const { versionInfo, nonce, resources } = discoveryResponse.decode(message);
    return { versionInfo, nonce, first: toFirst(resources[0]) };
  }
  const { systemVersionInfo, nonce, resources } = deltaDiscoveryResponse.decode(message);
  return { versionInfo: systemVersionInfo, nonce, first: toFirst(resources[0]?.resource) };
}

function toFirst(any: { typeUrl?: string; value?: Uint8Array } | undefined): InternalResponse["first"] {
  if (any === undefined) return undefined;
  const { typeUrl = "", value = new Uint8Array() } = any;
  return { typeUrl, value: Buffer.from(value.buffer, value.byteOffset, value.byteLength) };
}
