import type { Logger } from "../base/logger.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { shortTypeName } from "../xds/type-urls.ts";
import type { AgentRequest } from "./core/agent-request.ts";
import { answerInternal } from "./internal-response.ts";
import type { InternalHandler } from "./options.ts";

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
 * the subscriptions hands anything over; what still comes on one that did is acknowledged, so that nobody waits for it, and thrown away.
 */
export interface InternalTypes {
  /** Whether responses of this type are to be collected for `answer`. */
  takes(typeUrl: string): boolean;
  /** Whether they are of no interest any more, and are to be told to `passOver`. */
  passesOver(typeUrl: string): boolean;
  subscribe(): void;
  unsubscribe(): void;
  answer(typeUrl: string, message: Buffer): void;
  passOver(response: { readonly typeUrl: string; readonly nonce: string; readonly versionInfo: string }): void;
}

/** Everything of a type, in delta. */
const WILDCARD = ["*"];

export function createInternalTypes({ kind, handlers, log, ask, onAccepted }: InternalTypesOptions): InternalTypes {
  const versions = new Map<string, string>();
  const nonces = new Map<string, string>();
  let state: "never" | "subscribed" | "unsubscribed" = "never";
  const handlerOf = (typeUrl: string) => handlers.find((handler) => handler.typeUrl === typeUrl);
  const isOwn = (typeUrl: string) => handlerOf(typeUrl) !== undefined;
  return {
    takes: (typeUrl) => state === "subscribed" && isOwn(typeUrl),
    passesOver: (typeUrl) => state === "unsubscribed" && isOwn(typeUrl),
    subscribe() {
      // Who has taken delta's star back has to name it to have everything again; the first request means it anyway.
      const resourceNames = kind === "delta" && state === "unsubscribed" ? WILDCARD : [];
      state = "subscribed";
      for (const { typeUrl } of handlers) ask({ typeUrl, resourceNames });
    },
    unsubscribe() {
      if (state !== "subscribed") return;
      state = "unsubscribed";
      versions.clear();
      // The state of the world has no words for it where a type is not asked for by name.
      if (kind === "sotw") return;
      // With an acknowledgement: istiod takes the star back of nobody, and complains of requests that change nothing.
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
    passOver({ typeUrl, nonce, versionInfo }) {
      nonces.set(typeUrl, nonce);
      ask({ typeUrl, responseNonce: nonce, versionInfo, unsubscribe: WILDCARD });
    },
  };
}
