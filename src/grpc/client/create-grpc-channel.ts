import type { OutgoingHttpHeaders } from "node:http2";
import { errorMessage } from "../../base/coded-error.ts";
import { ACCEPTED_ENCODINGS } from "../compression.ts";
import { Metadata } from "../metadata.ts";
import { type CallKind, type Method, rawMethod } from "../method.ts";
import { GrpcError } from "../status.ts";
import { formatTimeout } from "../timeout-header.ts";
import { CallLimit } from "./call-limit.ts";
import { DEFAULT_WINDOW_BYTES, openClientSession, resizeWindow } from "./client-session.ts";
import { type Attempt, ClientStream, type ClientStreamOptions } from "./client-stream.ts";
import type { CallCredentials, CallOptions, GrpcChannel, GrpcChannelOptions } from "./client-types.ts";
import { SessionSlot } from "./session-slot.ts";
import { parseTarget } from "./target.ts";
import { type OpenCall, runUnary, toBidiCall, toClientStreamCall, toServerStreamCall } from "./typed-calls.ts";

const DEFAULT_CONNECT_TIMEOUT_MS = 20_000;
const MAX_MESSAGE_BYTES = 2 ** 31 - 1;

/** Makes no connection yet. Throws a TargetError for a malformed target. */
export function createGrpcChannel(targetText: string, options: GrpcChannelOptions = {}): GrpcChannel {
  const target = parseTarget(targetText);
  const authority = options.authority ?? (target.kind === "unix" ? "localhost" : target.text);
  const limits = {
    maxReceiveBytes: options.maxReceiveBytes ?? 4 * 1024 * 1024,
    maxSendBytes: options.maxSendBytes ?? MAX_MESSAGE_BYTES,
  };
  let windowBytes = options.windowBytes ?? DEFAULT_WINDOW_BYTES;
  const slot = new SessionSlot(options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS, async (signal) => {
    const opened = windowBytes;
    const session = await openClientSession(target, { ...options, windowBytes: opened }, signal);
    if (windowBytes !== opened) resizeWindow(session, windowBytes);
    return session;
  });

  async function open<Request, Response>(
    method: Method<CallKind, Request, Response>,
    callOptions: CallOptions,
    encodings: string,
  ): Promise<OpenCall<Request, Response>> {
    const limit = new CallLimit(callOptions);
    try {
      const metadata = await limit.race(callMetadata(method.path, callOptions));
      const again = async () => {
        const session = await limit.race(slot.get());
        const headers = requestHeaders(method.path, limit, encodings);
        metadata.copyTo(headers);
        return { session, headers };
      };
      const call = startCall(await again(), { ...callOptions, ...limits, limit, encodings, again });
      return { call, method, maxReceiveBytes: limits.maxReceiveBytes };
    } catch (failure) {
      limit.stop();
      throw failure;
    }
  }

  async function callMetadata(path: string, callOptions: CallOptions): Promise<Metadata> {
    const metadata = new Metadata().merge(Metadata.from(callOptions.metadata));
    for (const credentials of [options.credentials, callOptions.credentials]) {
      if (credentials !== undefined) metadata.merge(await askCredentials(credentials, path, authority));
    }
    return metadata;
  }

  function requestHeaders(path: string, limit: CallLimit, encodings: string): OutgoingHttpHeaders {
    const remainingMs = limit.remainingMs;
    return {
      ":method": "POST",
      ":scheme": options.tls === undefined ? "http" : "https",
      ":authority": authority,
      ":path": path,
      te: "trailers",
      "content-type": "application/grpc",
      "user-agent": options.userAgent ?? "pilot-agent",
      "grpc-accept-encoding": encodings,
      ...(remainingMs === undefined ? {} : { "grpc-timeout": formatTimeout(remainingMs) }),
    };
  }

  return {
    target: target.text,
    unary: async (method, request, callOptions = {}) =>
      runUnary(await open(method, callOptions, ACCEPTED_ENCODINGS), request),
    clientStream: async (method, callOptions = {}) =>
      toClientStreamCall(await open(method, callOptions, ACCEPTED_ENCODINGS)),
    serverStream: async (method, request, callOptions = {}) =>
      toServerStreamCall(await open(method, callOptions, ACCEPTED_ENCODINGS), request),
    bidi: async (method, callOptions = {}) => toBidiCall(await open(method, callOptions, ACCEPTED_ENCODINGS)),
    async raw(path, callOptions = {}) {
      const encodings = callOptions.takesGzip ? ACCEPTED_ENCODINGS : "identity";
      return (await open(rawMethod(path, "bidi"), callOptions, encodings)).call;
    },
    async connect(signal) {
      const limit = new CallLimit({ ...(signal && { signal }) });
      await limit.race(slot.get()).finally(() => limit.stop());
    },
    resizeWindow(bytes) {
      if (bytes === windowBytes) return;
      windowBytes = bytes;
      for (const session of slot.alive) resizeWindow(session, bytes);
    },
    stop: () => slot.stop(),
    [Symbol.asyncDispose]: () => slot.stop(),
  };
}

function startCall(first: Attempt, options: ClientStreamOptions): ClientStream {
  try {
    return new ClientStream(first, options);
  } catch (cause) {
    // node refuses headers that HTTP/2 forbids, and a session that closed this very moment.
    const code = first.session.isUsable() ? "INTERNAL" : "UNAVAILABLE";
    throw new GrpcError(code, `the call could not be started: ${errorMessage(cause)}`, { cause });
  }
}

async function askCredentials(credentials: CallCredentials, path: string, authority: string): Promise<Metadata> {
  try {
    return Metadata.from(await credentials({ path, authority }));
  } catch (cause) {
    if (cause instanceof GrpcError) throw cause;
    throw new GrpcError("UNAUTHENTICATED", `no credentials for the call: ${errorMessage(cause)}`, { cause });
  }
}
