import type { IncomingHttpHeaders } from "node:http2";
import { parseEncoding } from "../compression.ts";
import { MessageReader } from "../message-reader.ts";
import type { Codec } from "../method.ts";
import { GrpcError } from "../status.ts";
import type { ServerStream } from "./server-stream.ts";
import type { Implementation } from "./server-types.ts";

export interface RequestInfo {
  readonly headers: IncomingHttpHeaders;
  readonly maxBytes: number;
}

/** Runs a handler in the manner of its kind, up to the last message; the status is the caller's business. */
export async function runImplementation(
  implementation: Implementation,
  call: ServerStream,
  info: RequestInfo,
): Promise<void> {
  if (implementation.kind === "raw") return implementation.handler(call);
  const isStreaming = implementation.kind === "client-stream" || implementation.kind === "bidi";
  const requests = readRequests(call, implementation.method.request, { ...info, isStreaming });
  switch (implementation.kind) {
    case "unary":
      call.send(await implementation.handler(await onlyRequest(requests), call));
      return; // the status follows at once: flow control holds the last message and the trailers back together
    case "client-stream":
      call.send(await implementation.handler(requests, call));
      return;
    case "server-stream":
      return implementation.handler(await onlyRequest(requests), call);
    case "bidi":
      return implementation.handler(requests, call);
  }
}

function readRequests<Request>(
  call: ServerStream,
  codec: Codec<Request>,
  { headers, maxBytes, isStreaming }: RequestInfo & { readonly isStreaming: boolean },
): MessageReader<Request> {
  const reader: MessageReader<Request> = new MessageReader({
    decode: codec.decode,
    maxBytes,
    encoding: () => parseEncoding(headers["grpc-encoding"]?.toString()),
    // node's clients half-close before they reset: a cancelled upload would look complete. The reset is in the same packet.
    onEnd: () => (isStreaming ? setImmediate(() => reader.end()) : reader.end()),
    onFault: () => undefined, // the handler meets it when it reads
    onReturn: () => undefined,
  });
  reader.readFrom(call.stream);
  call.whenEnded((failure) => reader.abort(failure));
  return reader;
}

async function onlyRequest<Request>(requests: MessageReader<Request>): Promise<Request> {
  const first = await requests.next();
  if (first.done) throw new GrpcError("INTERNAL", "grpc: the client sent no request message");
  if (!(await requests.next()).done)
    throw new GrpcError("INTERNAL", "grpc: the client sent more than one request message");
  return first.value;
}
