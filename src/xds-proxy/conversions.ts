import { errorMessage } from "../base/coded-error.ts";
import { discoveryRequest } from "../protobuf/wire/discovery.ts";
import { memberBytes } from "../protobuf/wire/edit-members.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import type { AgentRequest } from "./core/agent-request.ts";
import type { ResponseConverter } from "./options.ts";

export interface ConversionOptions {
  readonly kind: XdsProtocol;
  readonly converters: readonly ResponseConverter[];
  readonly signal: AbortSignal;
  /** Sends a converted response to the client; a promise settles when it has room for more. */
  forward(typeUrl: string, nonce: string, message: Buffer): Promise<void> | undefined;
  refuse(request: AgentRequest): void;
  /** A response was ready, or had its turn, after the stream had ended. */
  onLate(): void;
}

/** Responses that are rewritten on the side while others pass, each type in the order of arrival. */
export interface Conversions {
  /** Stores what a NACK has to repeat: the names the client asked for and the version it has. */
  onRequest(typeUrl: string, message: Buffer): void;
  /** The promise holds the stream back; it is there only when the type is behind. */
  add(typeUrl: string, message: Buffer): Promise<void> | undefined;
}

/** Other types must not wait for a slow conversion, so only a real pile of them holds the stream back. */
const MAX_WAITING_BYTES = 1024 * 1024;
const INTERNAL = 13;
/** Of a response, in both protocols. */
const NONCE = 5;
/** Of a request. One without it only changes the names. */
const VERSION = 1;

export function createConversions(options: ConversionOptions): Conversions {
  const { kind, converters, signal } = options;
  const asked = new Map<string, { message: Buffer; version: string }>();
  const queues = new Map<string, { tail: Promise<void>; waitingBytes: number }>();
  const converterOf = (typeUrl: string) => converters.find((each) => each.typeUrl === typeUrl);

  const convert = async (converter: ResponseConverter, message: Buffer): Promise<void> => {
    if (signal.aborted) return options.onLate();
    const result = await converter.convert({ kind, message }, signal).catch((failure: unknown) => ({
      refusal: errorMessage(failure),
    }));
    if (signal.aborted) return options.onLate();
    const nonce = nonceOf(message);
    const { typeUrl } = converter;
    if ("message" in result) return options.forward(typeUrl, nonce, result.message);
    const error = { code: INTERNAL, message: result.refusal };
    options.refuse({ typeUrl, responseNonce: nonce, error, ...repeated(asked.get(typeUrl)) });
  };

  return {
    onRequest(typeUrl, message) {
      if (converters.length === 0 || kind !== "sotw" || converterOf(typeUrl) === undefined) return;
      const version = memberBytes(message, VERSION)?.toString("utf8") || (asked.get(typeUrl)?.version ?? "");
      asked.set(typeUrl, { message, version });
    },
    add(typeUrl, message) {
      const converter = converterOf(typeUrl);
      if (converter === undefined) return undefined;
      const queue = queues.get(typeUrl) ?? { tail: Promise.resolve(), waitingBytes: 0 };
      queues.set(typeUrl, queue);
      queue.waitingBytes += message.length;
      queue.tail = queue.tail
        .then(() => convert(converter, message))
        .finally(() => {
          queue.waitingBytes -= message.length;
        });
      queue.tail.catch(() => undefined);
      return queue.waitingBytes > MAX_WAITING_BYTES ? queue.tail : undefined;
    },
  };
}

/** Read without the resources: what the converter refuses may well be malformed inside. */
function nonceOf(message: Buffer): string {
  try {
    return memberBytes(message, NONCE)?.toString("utf8") ?? "";
  } catch {
    return "";
  }
}

/** Strict servers read a NACK without names as the end of the subscription. Delta has no such lists. */
function repeated(request: { message: Buffer; version: string } | undefined): Partial<AgentRequest> {
  if (request === undefined) return {};
  return { resourceNames: discoveryRequest.decode(request.message).resourceNames, versionInfo: request.version };
}
