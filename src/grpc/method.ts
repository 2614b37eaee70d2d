import { errorMessage } from "../base/coded-error.ts";
import { GrpcError } from "./status.ts";

export interface Codec<Message> {
  encode(message: Message): Uint8Array;
  /** The buffer may be a view of a larger network chunk: copy what lives longer than the call. */
  decode(bytes: Buffer): Message;
}

/** Messages as the bytes they are. */
export const rawCodec: Codec<Buffer> = { encode: (bytes) => bytes, decode: (bytes) => bytes };

export type CallKind = "unary" | "client-stream" | "server-stream" | "bidi";

/** One method of a service; shared by server and client. */
export interface Method<Kind extends CallKind, Request, Response> {
  /** "/package.Service/Method". */
  readonly path: string;
  readonly kind: Kind;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
}

/** Fixes the type parameters of a method written as a literal. */
export function defineMethod<Kind extends CallKind, Request, Response>(
  method: Method<Kind, Request, Response>,
): Method<Kind, Request, Response> {
  return Object.freeze(method);
}

/** A method whose messages are moved as bytes. */
export function rawMethod<Kind extends CallKind>(path: string, kind: Kind): Method<Kind, Buffer, Buffer> {
  return defineMethod({ path, kind, request: rawCodec, response: rawCodec });
}

/** A message that does not encode is the sender's bug; the peer would only see an INTERNAL error. */
export function encodeMessage<Message>(codec: Codec<Message>, message: Message): Uint8Array {
  try {
    return codec.encode(message);
  } catch (cause) {
    throw new GrpcError("INTERNAL", `grpc: error while marshaling: ${errorMessage(cause)}`, { cause });
  }
}
