import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { deltaDiscoveryResponse, discoveryResponse } from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { shortTypeName } from "../xds/type-urls.ts";
import type { AgentRequest } from "./core/agent-request.ts";
import type { TypeRules } from "./core/relay-state.ts";
import type { InternalHandler } from "./options.ts";

const INTERNAL = 13;

export interface InternalTypesOptions {
  readonly kind: XdsProtocol;
  readonly handlers: readonly InternalHandler[];
  readonly log: Logger;
  ask(request: AgentRequest): void;
  /** A resource was taken by its handler. */
  onAccepted(typeUrl: string, version: string, resource: { readonly typeUrl: string; readonly value: Buffer }): void;
}

/**
 * The types the agent consumes itself, on one stream: who handles them and which version was accepted last. Only the stream that carries
 * the subscriptions hands anything over; what still comes on one that did is ACKed and dropped.
 */
export interface InternalTypes {
  /** Subscribed: responses are for `answer`. Unsubscribed: what still comes is for `acknowledge`. */
  readonly state: TypeRules["internalState"];
  subscribe(): void;
  unsubscribe(): void;
  answer(typeUrl: string, message: Buffer): void;
  /** Without looking at the resources, so that the control plane does not wait. */
  acknowledge(response: { readonly typeUrl: string; readonly nonce: string; readonly versionInfo: string }): void;
}

/** Everything of a type, in delta. */
const WILDCARD = ["*"];

export function createInternalTypes({ kind, handlers, log, ask, onAccepted }: InternalTypesOptions): InternalTypes {
  const versions = new Map<string, string>();
  const nonces = new Map<string, string>();
  let state: TypeRules["internalState"] = "never";
  const handlerOf = (typeUrl: string) => handlers.find((handler) => handler.typeUrl === typeUrl);
  return {
    get state() {
      return state;
    },
    subscribe() {
      // After an unsubscribe from delta's wildcard it has to be named; a first request without names implies it.
      const resourceNames = kind === "delta" && state === "unsubscribed" ? WILDCARD : [];
      state = "subscribed";
      for (const { typeUrl } of handlers) ask({ typeUrl, resourceNames });
    },
    unsubscribe() {
      if (state !== "subscribed") return;
      state = "unsubscribed";
      versions.clear();
      // SotW cannot unsubscribe from a wildcard.
      if (kind === "sotw") return;
      // Together with an ACK: istiod ignores unsubscribing from the wildcard, and logs requests that change nothing.
      for (const [typeUrl, responseNonce] of nonces) ask({ typeUrl, responseNonce, unsubscribe: WILDCARD });
    },
    answer(typeUrl, message) {
      const handler = handlerOf(typeUrl);
      if (handler === undefined || state !== "subscribed") return;
      const { request, resource } = answerInternal(kind, handler, message, versions.get(typeUrl) ?? "");
      const { versionInfo = "", responseNonce = "", error } = request;
      if (responseNonce !== "") nonces.set(typeUrl, responseNonce);
      if (error === undefined) versions.set(typeUrl, versionInfo);
      else log.error(`failed to unmarshal ${handler.name ?? shortTypeName(typeUrl)}: ${error.message}`);
      if (error === undefined && resource !== undefined) onAccepted(typeUrl, versionInfo, resource);
      ask(request);
    },
    acknowledge({ typeUrl, nonce, versionInfo }) {
      nonces.set(typeUrl, nonce);
      ask({ typeUrl, responseNonce: nonce, versionInfo, unsubscribe: WILDCARD });
    },
  };
}

interface InternalResponse {
  readonly versionInfo: string;
  readonly nonce: string;
  /** The first resource; the agent's types have one. */
  readonly first: { readonly typeUrl: string; readonly value: Buffer } | undefined;
}

interface InternalAnswer {
  readonly request: AgentRequest;
  /** What the handler was given, and accepted unless the request has an error. */
  readonly resource: InternalResponse["first"];
}

/**
 * Gives a response of one of the agent's own types to its handler and says how to answer: an ACK, also for an empty response, or a NACK
 * that keeps the version accepted before.
 */
function answerInternal(
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
