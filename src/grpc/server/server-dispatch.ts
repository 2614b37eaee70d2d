import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { ACCEPTED_ENCODINGS, parseEncoding } from "../compression.ts";
import { MessageReader } from "../message-reader.ts";
import { type Codec, encodeMessage, rawCodec } from "../method.ts";
import { GrpcError } from "../status.ts";
import { parseTimeout } from "../timeout-header.ts";
import { releaseClient } from "./release-client.ts";
import { type IncomingRequest, type MessageLimits, ServerStream } from "./server-stream.ts";
import type { Implementation } from "./server-types.ts";

export interface Dispatcher {
  readonly methods: ReadonlyMap<string, Implementation>;
  readonly services: ReadonlySet<string>;
  readonly limits: MessageLimits;
  readonly log: Logger;
}

const GRPC_CONTENT_TYPE = /^application\/grpc([+;]|$)/i;

/** Takes one request from its headers to its status. Never throws, never rejects. */
export function dispatchStream(dispatcher: Dispatcher, stream: ServerHttp2Stream, request: IncomingRequest): void {
  const refusal = httpRefusal(request.headers);
  if (refusal !== undefined) {
    stream.on("error", () => undefined);
    stream.respond(refusal, { endStream: true });
    releaseClient(stream);
    return;
  }
  const implementation = dispatcher.methods.get(request.headers[":path"] ?? "");
  const encode = encoderOf(implementation);
  // Frames that are only moved on cannot be decompressed on the way.
  const encodings = implementation?.kind === "raw" ? "identity" : ACCEPTED_ENCODINGS;
  const call = new ServerStream(stream, request, { ...dispatcher.limits, encode, encodings, log: dispatcher.log });
  const failure =
    implementation === undefined ? unknownMethod(dispatcher, call.path) : startFailure(implementation, request);
  if (implementation === undefined || failure !== undefined) {
    call.finish(failure);
    return;
  }
  startDeadline(call, request.headers["grpc-timeout"]);
  void runImplementation(implementation, call, { ...request, maxBytes: dispatcher.limits.maxReceiveBytes }).then(
    () => call.finish(),
    (thrown: unknown) => call.finish(toStatus(thrown, call, dispatcher.log)),
  );
}

function httpRefusal(headers: IncomingHttpHeaders): { ":status": number; allow?: string } | undefined {
  if (headers[":method"] !== "POST") return { ":status": 405, allow: "POST" };
  return GRPC_CONTENT_TYPE.test(headers["content-type"] ?? "") ? undefined : { ":status": 415 };
}

function encoderOf(implementation: Implementation | undefined): (message: unknown) => Uint8Array {
  const codec =
    implementation === undefined || implementation.kind === "raw" ? rawCodec : implementation.method.response;
  return (message) => encodeMessage(codec as Codec<unknown>, message);
}

function unknownMethod(dispatcher: Dispatcher, path: string): GrpcError {
  const cut = path.lastIndexOf("/");
  const [service, method] = [path.slice(1, cut), path.slice(cut + 1)];
  if (!path.startsWith("/") || cut <= 0)
    return new GrpcError("UNIMPLEMENTED", `malformed method name: ${JSON.stringify(path)}`);
  if (!dispatcher.services.has(service)) return new GrpcError("UNIMPLEMENTED", `unknown service ${service}`);
  return new GrpcError("UNIMPLEMENTED", `unknown method ${method} for service ${service}`);
}

function startFailure(implementation: Implementation, { headers }: IncomingRequest): GrpcError | undefined {
  const timeout = headers["grpc-timeout"];
  if (timeout !== undefined && parseTimeout(String(timeout)) === undefined) {
    return new GrpcError("INTERNAL", `malformed grpc-timeout: ${JSON.stringify(timeout)}`);
  }
  const header = headers["grpc-encoding"]?.toString();
  const encoding = parseEncoding(header);
  const readable = implementation.kind === "raw" ? encoding === "identity" : encoding !== undefined;
  if (readable) return undefined;
  return new GrpcError(
    "UNIMPLEMENTED",
    `grpc: Decompressor is not installed for grpc-encoding ${JSON.stringify(header)}`,
  );
}

function startDeadline(call: ServerStream, header: string | string[] | undefined): void {
  const timeoutMs = header === undefined ? undefined : parseTimeout(String(header));
  if (timeoutMs === undefined) return;
  call.deadline = Date.now() + timeoutMs;
  if (timeoutMs > MAX_TIMER_MS) return; // node's timers would fire at once; the call will not live that long
  const expire = () => call.expire(new GrpcError("DEADLINE_EXCEEDED", "context deadline exceeded"));
  const timer = setTimeout(expire, timeoutMs);
  call.whenEnded(() => clearTimeout(timer));
}

/** What is not a GrpcError is our own fault: the log gets the details, the client does not. */
function toStatus(thrown: unknown, call: ServerStream, log: Logger): GrpcError {
  if (thrown instanceof GrpcError) return thrown;
  log.error("gRPC handler failed", { path: call.path, peer: call.peer.address, error: errorMessage(thrown) });
  return new GrpcError("UNKNOWN", "the handler of the call failed");
}

interface RequestInfo {
  readonly headers: IncomingHttpHeaders;
  readonly maxBytes: number;
}

/** Runs a handler in the manner of its kind, up to the last message; the status is the caller's business. */
async function runImplementation(implementation: Implementation, call: ServerStream, info: RequestInfo): Promise<void> {
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
    beforeMessage: (length) => call.beforeMessage?.(length),
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
