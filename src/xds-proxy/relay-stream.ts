import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { GrpcError, type RawServerCall } from "../grpc/index.ts";
import { any } from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import type { BufferCollector } from "./buffer-collector.ts";
import type { ClientInbox } from "./client-inbox.ts";
import { createConversions } from "./conversions.ts";
import { type AgentRequest, encodeAgentRequest } from "./core/agent-request.ts";
import { isForwardedEarly, type ResponseAction, responseAction, type TypeRules } from "./core/relay-state.ts";
import { type RequestFacts, scanRequest } from "./core/request-facts.ts";
import { createInternalTypes } from "./internal-types.ts";
import type { Recorder } from "./last-good/recorder.ts";
import { unlessSilent } from "./last-good/until-silent.ts";
import type { MessageLog, ResponseFacts } from "./message-log.ts";
import type { Upstream } from "./open-upstream.ts";
import type { StreamCounts, XdsProxyOptions } from "./options.ts";
import { createRequestSender, sendLastRequests } from "./request-sender.ts";
import { createResponseRelay } from "./response-relay.ts";
import { endOf, endOfSending, reportEnd, type StreamEnd } from "./stream-end.ts";

const LOOKS = 6;

export interface RelayParts {
  readonly kind: XdsProtocol;
  readonly downstream: RawServerCall;
  readonly upstream: Upstream;
  readonly inbox: ClientInbox;
  readonly counts: StreamCounts;
  readonly buffers: BufferCollector;
  readonly messages: MessageLog;
  readonly log: Logger;
  /** Before a request goes upstream. */
  onRequest(facts: RequestFacts, bytes: number): void;
  /** After it does. */
  onRequestSent(facts: RequestFacts): void;
}

/** One client's stream while it has a control plane. */
export interface StreamRelay {
  /** Which side ended first, and how. */
  readonly ended: Promise<StreamEnd>;
  /** A request of the agent, between those of the client; without effect when the relay has ended. */
  send(message: Buffer): void;
  /** The stream carries the agent's own subscriptions from now on, or no longer. */
  subscribe(): void;
  unsubscribe(): void;
}

const PROGRESS_LIMIT_MS = 30_000;

/** Requests go up, responses come down, until one side ends. */
export function startRelay(options: XdsProxyOptions, parts: RelayParts): StreamRelay {
  const { kind, downstream, upstream, inbox, counts, messages, log } = parts;
  const { metrics, converters = [], handlers, lastGood, progressLimitMs = PROGRESS_LIMIT_MS } = options;
  const sender = createRequestSender(upstream.call, () => metrics.requests.inc());
  // Not the client's own signal: that one never comes when the control plane ends first.
  const over = new AbortController();
  let recorder: Recorder | undefined;

  const send = (message: Buffer) => {
    if (over.signal.aborted) return;
    messages.request(message);
    sender.enqueue(message);
  };
  const ask = (request: AgentRequest) => send(encodeAgentRequest(kind, request));
  const internal = createInternalTypes({
    kind,
    handlers,
    log,
    ask,
    onAccepted: (typeUrl, version, resource) => recorder?.onInternal(typeUrl, version, any.encode(resource)),
  });
  const conversions = createConversions({
    kind,
    converters,
    signal: over.signal,
    refuse: ask,
    onLate: () => messages.dropped(),
    forward: (typeUrl, nonce, message) => {
      if (recorder?.wants(typeUrl)) recorder.onResponse(typeUrl, nonce, [message]);
      messages.converted(message);
      return responses.send(message);
    },
  });
  const rules: TypeRules = {
    converted: new Set(converters.map(({ typeUrl }) => typeUrl)),
    internal: new Set(handlers.map(({ typeUrl }) => typeUrl)),
    get internalState() {
      return internal.state;
    },
  };

  const decide = (typeUrl: string): ResponseAction => {
    inbox.forget(); // the client is about to get a response: nothing else can answer it any more
    const action = responseAction(typeUrl, rules);
    if (action === "drop" && !(rules.internal.has(typeUrl) && rules.internalState === "unsubscribed")) {
      log.error(`Skipping forwarding type url ${typeUrl} to Envoy as is not a valid Envoy type`);
    }
    return action;
  };
  const onResponse = (facts: ResponseFacts) => {
    lastGood?.noteReachable();
    counts.responses += 1;
    counts.lastResponseAt = Date.now();
    metrics.responses.inc();
    messages.response(facts);
    const { typeUrl = "", nonce, versionInfo } = facts;
    if (rules.internalState === "unsubscribed" && rules.internal.has(typeUrl)) {
      internal.acknowledge({ typeUrl, nonce, versionInfo });
    }
  };
  const responses = createResponseRelay({
    kind,
    downstream,
    encoding: () => upstream.call.encoding,
    decide,
    isForwardedEarly: (typeUrl) => isForwardedEarly(typeUrl, rules),
    onCollected: (action, typeUrl, message) =>
      action === "convert" ? conversions.add(typeUrl, message) : internal.answer(typeUrl, message),
    onResponse,
    isRecorded: (typeUrl) => recorder?.wants(typeUrl) ?? false,
    onRecorded: ({ typeUrl = "", nonce }, pieces) => recorder?.onResponse(typeUrl, nonce, pieces),
    onBytes: (bytes) => parts.buffers.received(bytes),
    onSlowClient: (waitedMs) => {
      const name = kind === "delta" ? "sendDownstreamDelta" : "sendDownstream";
      log.warn(`${name} took ${(waitedMs / 1000).toFixed(3)}s`);
    },
  });
  const onRequest = (bytes: Buffer) => {
    const facts = scan(kind, bytes);
    parts.onRequest(facts, bytes.length);
    if (lastGood !== undefined && facts.isEnvoy && facts.nodeId === lastGood.nodeId) {
      recorder ??= lastGood.recorder(kind);
    }
    recorder?.onRequest(facts.typeUrl, bytes);
    conversions.onRequest(facts.typeUrl, bytes);
    send(bytes);
    parts.onRequestSent(facts);
  };

  const run = async (): Promise<StreamEnd> => {
    using progress = watchProgress(progressLimitMs, [
      { what: "the control plane has begun a response and does not go on", read: () => responses.progress() },
      { what: "the control plane does not take requests", read: () => sender.progress() },
    ]);
    const fromClient = endOf("downstream", inbox.deliver(onRequest));
    const fromServer = endOf("upstream", upstream.call.readFrames(responses.sink));
    const ends = [fromClient, fromServer, endOfSending(sender.failed, fromServer), endOf("upstream", progress.stuck)];
    const isAnswered = () => responses.progress().count > 0 || !inbox.canRepeat;
    const waiting = unlessSilent(Promise.race(ends), lastGood, { kind, first: inbox.first, isAnswered });
    const first = await waiting.catch((failure: unknown): StreamEnd => ({ side: "upstream", failure }));
    over.abort();
    if (first.side === "downstream" && first.failure === undefined) await sendLastRequests(sender, upstream.call);
    reportEnd(first, metrics, log);
    return first;
  };
  return { ended: run(), send, subscribe: internal.subscribe, unsubscribe: internal.unsubscribe };
}

function scan(kind: XdsProtocol, bytes: Buffer): RequestFacts {
  try {
    return scanRequest(kind, bytes);
  } catch (cause) {
    const text = `grpc: failed to unmarshal the received message: ${errorMessage(cause)}`;
    throw new GrpcError("INTERNAL", text, { cause });
  }
}

/** Something the peer owes us: while it does, its count has to move. */
interface OwedProgress {
  readonly what: string;
  read(): { readonly owed: boolean; readonly count: number };
}

interface ProgressWatch extends Disposable {
  /** Rejects with UNAVAILABLE when something was owed for `limitMs` without a move; never resolves. */
  readonly stuck: Promise<never>;
}

/**
 * A peer whose connection answers pings can still hang. It is not asked to say anything, a quiet control plane is a healthy one; but in
 * the middle of a response, or with requests of ours unread, it has to go on. Looks from time to time and costs the traffic nothing.
 */
export function watchProgress(limitMs: number, watched: readonly OwedProgress[]): ProgressWatch {
  const seen = watched.map(() => ({ count: 0, looks: 0 }));
  let fail: (reason: GrpcError) => void = () => undefined;
  const stuck = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  stuck.catch(() => undefined);
  const look = () => {
    for (const [index, { what, read }] of watched.entries()) {
      const { owed, count } = read();
      const last = seen[index];
      const looks = owed && last !== undefined && last.count === count ? last.looks + 1 : 0;
      seen[index] = { count, looks };
      if (looks >= LOOKS) fail(new GrpcError("UNAVAILABLE", `no progress within ${limitMs / 1000} s: ${what}`));
    }
  };
  const timer = setInterval(look, limitMs / LOOKS);
  timer.unref();
  return { stuck, [Symbol.dispose]: () => clearInterval(timer) };
}
