import type { OutgoingHttpHeaders } from "node:http2";
import { errorMessage } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { ACCEPTED_ENCODINGS } from "../compression.ts";
import { Metadata } from "../metadata.ts";
import { type CallKind, type Method, rawMethod } from "../method.ts";
import { GrpcError } from "../status.ts";
import { formatTimeout } from "../timeout-header.ts";
import { CallLimit } from "./call-limit.ts";
import { type ClientSession, DEFAULT_WINDOW_BYTES, openClientSession, resizeWindow } from "./client-session.ts";
import { type Attempt, ClientStream, type ClientStreamOptions } from "./client-stream.ts";
import type { CallCredentials, CallOptions, GrpcChannel, GrpcChannelOptions } from "./client-types.ts";
import { parseTarget } from "./target.ts";
import { type OpenCall, runUnary, toBidiCall, toClientStreamCall, toServerStreamCall } from "./typed-calls.ts";

/** The one current session of a channel: opened by the first call that needs it, replaced when it takes no new calls any more. */
class SessionSlot {
  readonly #open: (signal: AbortSignal) => Promise<ClientSession>;
  readonly #connectTimeoutMs: number;
  readonly #stopped = new AbortController();
  /** Sessions that went away but still finish their calls are here too. */
  readonly #alive = new Set<ClientSession>();
  #opening: Promise<ClientSession> | undefined;
  #current: ClientSession | undefined;

  constructor(connectTimeoutMs: number, open: (signal: AbortSignal) => Promise<ClientSession>) {
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#open = open;
  }

  /** Callers that come while a connection is made share it, and its failure; the next caller after that tries again. */
  get(): Promise<ClientSession> {
    if (this.#stopped.signal.aborted) return Promise.reject(this.#stopped.signal.reason);
    if (this.#current?.isUsable()) return Promise.resolve(this.#current);
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  get alive(): Iterable<ClientSession> {
    return this.#alive;
  }

  async stop(): Promise<void> {
    const reason = new GrpcError("CANCELLED", "the channel was stopped");
    this.#stopped.abort(reason);
    await this.#opening?.catch(() => undefined);
    await Promise.all([...this.#alive].map((session) => destroy(session, reason)));
  }

  async #connect(): Promise<ClientSession> {
    const attempt = new AbortController();
    const expire = () => attempt.abort(new Error(`no answer within ${this.#connectTimeoutMs} ms`));
    const timer = setTimeout(expire, Math.min(this.#connectTimeoutMs, MAX_TIMER_MS));
    const onStop = () => attempt.abort(this.#stopped.signal.reason);
    this.#stopped.signal.addEventListener("abort", onStop);
    try {
      const session = await this.#open(attempt.signal);
      this.#alive.add(session);
      session.http2.once("close", () => this.#alive.delete(session));
      this.#current = session;
      return session;
    } finally {
      clearTimeout(timer);
      this.#stopped.signal.removeEventListener("abort", onStop);
    }
  }
}

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

function destroy(session: ClientSession, reason: GrpcError): Promise<void> {
  session.lost ??= reason;
  return new Promise((resolve) => {
    if (session.http2.destroyed) return resolve();
    session.http2.once("close", () => resolve());
    session.http2.destroy();
  });
}
