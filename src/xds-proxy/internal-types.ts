import type { Logger } from "../base/logger.ts";
import type { AgentRequest, ProtocolKind } from "./core/protocol-kind.ts";
import { shortTypeName } from "./core/type-urls.ts";
import { answerInternal } from "./internal-response.ts";
import type { InternalHandler } from "./options.ts";

export interface InternalTypesOptions {
  readonly kind: ProtocolKind;
  readonly handlers: readonly InternalHandler[];
  readonly log: Logger;
  ask(request: AgentRequest): void;
  /** A resource was taken by its handler. */
  onAccepted(typeUrl: string, version: string, resource: { readonly typeUrl: string; readonly value: Buffer }): void;
}

/** The types the agent consumes itself, on one stream: who handles them and which version was accepted last. */
export interface InternalTypes {
  takes(typeUrl: string): boolean;
  subscribe(): void;
  answer(typeUrl: string, message: Buffer): void;
}

export function createInternalTypes({ kind, handlers, log, ask, onAccepted }: InternalTypesOptions): InternalTypes {
  const versions = new Map<string, string>();
  const handlerOf = (typeUrl: string) => handlers.find((handler) => handler.typeUrl === typeUrl);
  return {
    takes: (typeUrl) => handlerOf(typeUrl) !== undefined,
    subscribe() {
      for (const { typeUrl } of handlers) ask({ typeUrl });
    },
    answer(typeUrl, message) {
      const handler = handlerOf(typeUrl);
      if (handler === undefined) return;
      const { request, resource } = answerInternal(kind, handler, message, versions.get(typeUrl) ?? "");
      const { versionInfo = "", error } = request;
      if (error === undefined) versions.set(typeUrl, versionInfo);
      else log.error(`failed to unmarshal ${handler.name ?? shortTypeName(typeUrl)}: ${error.message}`);
      if (error === undefined && resource !== undefined) onAccepted(typeUrl, versionInfo, resource);
      ask(request);
    },
  };
}
