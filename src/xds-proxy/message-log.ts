import { errorMessage } from "../base/coded-error.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { shortTypeName } from "../xds/type-urls.ts";

/** What was seen of a response while it passed. */
export interface ResponseFacts {
  readonly typeUrl: string | undefined;
  readonly nonce: string;
  readonly versionInfo: string;
  readonly resourceCount: number;
  readonly removedCount: number;
}

/** The lines about the messages of one stream, as the reference writes them. Those for debugging cost one question each when they are off. */
export interface MessageLog {
  accepted(): void;
  /** A request on its way up, the client's or the agent's own. */
  request(message: Buffer): void;
  response(facts: ResponseFacts): void;
  /** A rewritten response on its way to the client. */
  converted(message: Buffer): void;
  /** A rewritten response whose stream has ended. */
  dropped(): void;
}

export function createMessageLog(kind: XdsProtocol, log: Logger): MessageLog {
  const isDelta = kind === "delta";
  // What passes need not be well-formed inside; a line less is better than a stream less.
  const write = (line: () => Line) => {
    if (!log.enabled("debug")) return;
    try {
      log.debug(...line());
    } catch (failure) {
      log.debug("a message that cannot be shown", { reason: errorMessage(failure) });
    }
  };
  return {
    accepted() {
      if (isDelta) log.debug("accepted delta xds connection from envoy, forwarding to upstream");
      else log.debug("accepted XDS connection from Envoy, forwarding to upstream XDS server");
    },
    dropped() {
      log.error(`downstream dropped ${isDelta ? "delta " : ""}xds push to Envoy, connection already closed`);
    },
    request: (message) => write(() => (isDelta ? deltaRequest(message) : request(message))),
    response: (facts) => write(() => response(facts, isDelta)),
    converted: (message) => write(() => (isDelta ? deltaConverted(message) : converted(message))),
  };
}

type Line = readonly [text: string, fields: LogFields];

function request(message: Buffer): Line {
  const { typeUrl, errorDetail } = discoveryRequest.decode(message);
  return [`request for type url ${typeUrl}`, nack(errorDetail)];
}

function deltaRequest(message: Buffer): Line {
  const request = deltaDiscoveryRequest.decode(message);
  const fields = {
    type: shortTypeName(request.typeUrl),
    sub: request.resourceNamesSubscribe.length,
    unsub: request.resourceNamesUnsubscribe.length,
    nonce: request.responseNonce,
    initial: request.initialResourceVersions.size,
  };
  return ["delta request", { ...fields, ...nack(request.errorDetail) }];
}

/** Not in the reference's lines, and what one looks for in them. */
function nack(error: { readonly message?: string } | undefined): LogFields {
  return error === undefined ? {} : { nack: error.message ?? "" };
}

function response({ typeUrl = "", nonce, resourceCount, removedCount }: ResponseFacts, isDelta: boolean): Line {
  const type = shortTypeName(typeUrl);
  const fields = isDelta
    ? { type, nonce, resources: resourceCount, removes: removedCount }
    : { type, resources: resourceCount };
  return ["upstream response", fields];
}

function converted(message: Buffer): Line {
  return ["forward ECDS", { resources: discoveryResponse.decode(message).resources.length }];
}

function deltaConverted(message: Buffer): Line {
  const { resources, removedResources } = deltaDiscoveryResponse.decode(message);
  const names = resources.map(({ name = "" }) => name);
  return ["forward ECDS", { resources: `[${names.join(" ")}]`, removes: `[${removedResources.join(" ")}]` }];
}
