import { errorMessage } from "../base/coded-error.ts";
import { deltaDiscoveryResponse, discoveryResponse } from "../protocol/protobuf/discovery.ts";
import type { AgentRequest, ProtocolKind } from "./core/protocol-kind.ts";
import type { InternalHandler } from "./options.ts";

const INTERNAL = 13;

interface InternalResponse {
  readonly versionInfo: string;
  readonly nonce: string;
  /** The first resource; the agent's types have one. */
  readonly first: { readonly typeUrl: string; readonly value: Buffer } | undefined;
}

/**
 * Gives a response of one of the agent's own types to its handler and says how to answer: an ACK, also for an empty response, or a NACK
 * that keeps the version accepted before.
 */
export function answerInternal(
  kind: ProtocolKind,
  handler: InternalHandler,
  message: Buffer,
  acceptedVersion: string,
): AgentRequest {
  const { typeUrl } = handler;
  let nonce = "";
  try {
    const response = decode(kind, message);
    nonce = response.nonce;
    if (response.first !== undefined) {
      if (response.first.typeUrl !== typeUrl) {
        throw new Error(`mismatched message type: got "${response.first.typeUrl}" want "${typeUrl}"`);
      }
      handler.handle(response.first.value);
    }
    return { typeUrl, responseNonce: nonce, versionInfo: response.versionInfo };
  } catch (failure) {
    const error = { code: INTERNAL, message: errorMessage(failure) };
    return { typeUrl, responseNonce: nonce, versionInfo: acceptedVersion, error };
  }
}

function decode(kind: ProtocolKind, message: Buffer): InternalResponse {
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
