import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type GrpcChannel, GrpcError, type RawServerCall } from "../grpc/index.ts";
import { any } from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { isForwardedType, isResponseType, LISTENER_TYPE } from "../xds/type-urls.ts";
import { type ClientInbox, openInbox } from "./client-inbox.ts";
import { type Conversions, createConversions } from "./conversions.ts";
import { type AgentRequest, encodeAgentRequest } from "./core/agent-request.ts";
import { type RequestFacts, scanRequest } from "./core/request-facts.ts";
import { createInternalTypes, type InternalTypes } from "./internal-types.ts";
import type { Recorder } from "./last-good/recorder.ts";
import type { ServeOptions } from "./last-good/serve-last-good.ts";
import { unlessSilent } from "./last-good/until-silent.ts";
import { createMessageLog, type MessageLog, type ResponseFacts } from "./message-log.ts";
import type { Upstream } from "./open-upstream.ts";
import type { StreamDescription, XdsProxyOptions } from "./options.ts";
import { judgeUnanswered, reachUpstream } from "./reach-upstream.ts";
import { createRequestSender, type RequestSender, sendLastRequests } from "./request-sender.ts";
import { createResponseRelay, type ResponseAction } from "./response-relay.ts";
import { serveWithoutUpstream } from "./serve-without-upstream.ts";
import { endOf, endOfSending, reportEnd, type StreamEnd, toStatus } from "./stream-end.ts";
import type { RegisteredStream } from "./stream-registry.ts";
import { watchProgress } from "./watch-progress.ts";

export interface XdsStreamHooks {
  /** The stream has introduced its node, or the control plane it did that to is gone. */
  onIntroduced(): void;
  /** Whether some stream carries the agent's own subscriptions. */
  hasPrimary(): boolean;
  onRequestBytes(bytes: number): void;
  /** Bytes of a response came in, not necessarily all of it. */
  onResponseBytes(bytes: number): void;
  /** How many there are, this one included. */
  streams(): number;
  /** A connection that was made ahead. */
  takeWarmUpstream(): GrpcChannel | undefined;
  /** What the primary stream sends besides the subscriptions, in the order it is to be sent. */
  storedRequests(kind: XdsProtocol): readonly Buffer[];
}

const PROGRESS_LIMIT_MS = 30_000;

/** One client's stream and its own stream to the control plane; they begin and end together. */
export class XdsStream implements RegisteredStream {
  readonly id: number;
  readonly kind: XdsProtocol;
  isEnvoy = false;
  isIntroduced = false;

  readonly #options: XdsProxyOptions;
  readonly #hooks: XdsStreamHooks;
  readonly #log: Logger;
  readonly #messages: MessageLog;
  readonly #internal: InternalTypes;
  #conversions: Conversions | undefined;
  #sender: RequestSender | undefined;
  #upstream: Upstream | undefined;
  #recorder: Recorder | undefined;
  #source: StreamDescription["source"] = "control-plane";
  #nodeId = "";
  #node: Buffer | undefined;
  #requests = 0;
  #responses = 0;
  #lastResponseAt: number | undefined;

  constructor(id: number, kind: XdsProtocol, options: XdsProxyOptions, hooks: XdsStreamHooks) {
    this.id = id;
    this.kind = kind;
    this.#options = options;
    this.#hooks = hooks;
    this.#log = options.log.with({ id });
    this.#messages = createMessageLog(kind, this.#log);
    this.#internal = createInternalTypes({
      kind,
      handlers: options.handlers,
      log: this.#log,
      ask: (request) => this.#ask(request),
      onAccepted: (typeUrl, version, resource) => this.#recorder?.onInternal(typeUrl, version, any.encode(resource)),
    });
  }

  /** Resolves when either side ended cleanly; rejects with the status the client is to see. */
  async run(downstream: RawServerCall): Promise<void> {
    const { address } = this.#options.upstream;
    const delta = this.kind === "delta" ? "delta " : "";
    this.#messages.accepted();
    const inbox = openInbox(downstream);
    const upstream = await reachUpstream(this.#options, {
      kind: this.kind,
      first: inbox.first,
      signal: downstream.signal,
      streams: this.#hooks.streams(),
      channel: this.#hooks.takeWarmUpstream(),
      log: this.#log,
    });
    if ("failure" in upstream) return this.#serve(downstream, (take) => inbox.deliver(take), upstream.failure);
    this.#log.info(`connected to ${delta}upstream XDS server: ${address}`);
    this.#upstream = upstream;
    this.shareMemory(this.#hooks.streams()); // others may have come meanwhile
    let end: StreamEnd;
    try {
      end = await this.#relay(downstream, upstream, inbox);
    } finally {
      this.#upstream = undefined;
      upstream.call.end();
      await upstream.close();
      this.#log.debug(`disconnected from ${delta}XDS server: ${address}`);
    }
    const nobody = this.#responses === 0 ? judgeUnanswered(this.#options.lastGood, end) : undefined;
    if (nobody !== undefined && inbox.canRepeat) {
      await this.#serve(downstream, (take) => inbox.repeat(take), nobody.failure);
    } else if (end.failure !== undefined) throw toStatus(end.failure);
  }

  /** The client's node as it was sent; undefined before its first request. */
  get node(): Buffer | undefined {
    return this.#node;
  }

  /** Agent-made requests, once the control plane knows the node; without effect before. */
  send(message: Buffer): void {
    if (this.isIntroduced) this.#enqueue(message);
  }

  /** Streams have come or gone: with many of them, each may hold less. */
  shareMemory(streams: number): void {
    this.#upstream?.shareMemory(streams);
  }

  becomePrimary(): void {
    this.#internal.subscribe();
    for (const message of this.#hooks.storedRequests(this.kind)) this.send(message);
  }

  resignPrimary(): void {
    this.#internal.unsubscribe();
  }

  describe(primary: boolean): StreamDescription {
    const { id, kind } = this;
    return {
      id,
      kind,
      nodeId: this.#nodeId,
      primary,
      requests: this.#requests,
      responses: this.#responses,
      lastResponseAt: this.#lastResponseAt,
      source: this.#source,
    };
  }

  async #serve(downstream: RawServerCall, receive: ServeOptions["receive"], failure: GrpcError): Promise<void> {
    const { lastGood } = this.#options;
    if (lastGood === undefined) throw failure;
    this.isIntroduced = false;
    this.#hooks.onIntroduced();
    const onServing = () => {
      this.#source = "last-known-good";
    };
    const { kind } = this;
    const log = this.#log;
    const feedsHandlers = () => !this.#hooks.hasPrimary();
    const stream = { kind, downstream, receive, lastGood, failure, log, onServing, feedsHandlers };
    await serveWithoutUpstream(this.#options, stream);
  }

  /** Says which side ended first, and how. */
  async #relay(downstream: RawServerCall, upstream: Upstream, inbox: ClientInbox): Promise<StreamEnd> {
    const { metrics, converters = [], lastGood, progressLimitMs = PROGRESS_LIMIT_MS } = this.#options;
    const sender = createRequestSender(upstream.call, () => metrics.requests.inc());
    this.#sender = sender;
    // Not the client's own signal: that one never comes when the control plane ends first.
    const over = new AbortController();
    const conversions = createConversions({
      kind: this.kind,
      converters,
      signal: over.signal,
      refuse: (request) => this.#ask(request),
      onLate: () => this.#messages.dropped(),
      forward: (typeUrl, nonce, message) => {
        if (this.#recorder?.wants(typeUrl)) this.#recorder.onResponse(typeUrl, nonce, [message]);
        this.#messages.converted(message);
        return relay.send(message);
      },
    });
    this.#conversions = conversions;
    const relay = createResponseRelay({
      kind: this.kind,
      downstream,
      encoding: () => upstream.call.encoding,
      decide: (typeUrl) => {
        inbox.forget(); // the client is about to hear something: nobody else can answer it any more
        return conversions.takes(typeUrl) ? "hold" : this.#decide(typeUrl);
      },
      passesEarly: (typeUrl) => isResponseType(typeUrl) && !conversions.takes(typeUrl),
      onHeld: (typeUrl, message) =>
        conversions.takes(typeUrl) ? conversions.add(typeUrl, message) : this.#internal.answer(typeUrl, message),
      onResponse: (facts) => {
        lastGood?.noteReachable();
        this.#onResponse(facts);
      },
      wantsCopy: (typeUrl) => this.#recorder?.wants(typeUrl) ?? false,
      onCopied: ({ typeUrl = "", nonce }, pieces) => this.#recorder?.onResponse(typeUrl, nonce, pieces),
      onBytes: this.#hooks.onResponseBytes,
      onSlowClient: (waitedMs) => this.#warnSlow(waitedMs),
    });
    using progress = watchProgress(progressLimitMs, [
      { what: "the control plane has begun a response and does not go on", read: () => relay.progress() },
      { what: "the control plane does not take requests", read: () => sender.progress() },
    ]);
    const fromClient = endOf(
      "downstream",
      inbox.deliver((bytes) => this.#onRequest(bytes)),
    );
    const fromServer = endOf("upstream", upstream.call.readFrames(relay.sink));
    const ends = [fromClient, fromServer, endOfSending(sender.failed, fromServer), endOf("upstream", progress.stuck)];
    const isAnswered = () => relay.progress().count > 0 || !inbox.canRepeat;
    const waiting = unlessSilent(Promise.race(ends), lastGood, { kind: this.kind, first: inbox.first, isAnswered });
    const first = await waiting.catch((failure: unknown): StreamEnd => ({ side: "upstream", failure }));
    this.#sender = undefined;
    over.abort();
    if (first.side === "downstream" && first.failure === undefined) await sendLastRequests(sender, upstream.call);
    reportEnd(first, metrics, this.#log);
    return first;
  }

  #onRequest(bytes: Buffer): void {
    const facts = this.#scan(bytes);
    this.#requests += 1;
    this.#hooks.onRequestBytes(bytes.length);
    if (facts.node !== undefined) {
      this.#nodeId = facts.nodeId;
      this.#node = Buffer.from(facts.node);
    }
    if (facts.isEnvoy) this.isEnvoy = true;
    this.#follow(facts, bytes);
    this.#enqueue(bytes);
    if (facts.typeUrl !== LISTENER_TYPE || this.isIntroduced) return;
    this.isIntroduced = true;
    this.#hooks.onIntroduced();
  }

  #follow(facts: RequestFacts, bytes: Buffer): void {
    const { lastGood } = this.#options;
    if (lastGood !== undefined && facts.isEnvoy && facts.nodeId === lastGood.nodeId) {
      this.#recorder ??= lastGood.recorder(this.kind);
    }
    this.#recorder?.onRequest(facts.typeUrl, bytes);
    this.#conversions?.onRequest(facts.typeUrl, bytes);
  }

  #scan(bytes: Buffer): RequestFacts {
    try {
      return scanRequest(this.kind, bytes);
    } catch (cause) {
      const text = `grpc: failed to unmarshal the received message: ${errorMessage(cause)}`;
      throw new GrpcError("INTERNAL", text, { cause });
    }
  }

  #decide(typeUrl: string): ResponseAction {
    if (this.#internal.takes(typeUrl)) return "hold";
    if (this.#internal.passesOver(typeUrl)) return "drop";
    if (isForwardedType(typeUrl)) return "forward";
    this.#log.error(`Skipping forwarding type url ${typeUrl} to Envoy as is not a valid Envoy type`);
    return "drop";
  }

  #onResponse(facts: ResponseFacts): void {
    this.#responses += 1;
    this.#lastResponseAt = Date.now();
    this.#options.metrics.responses.inc();
    this.#messages.response(facts);
    const { typeUrl = "", nonce, versionInfo } = facts;
    if (this.#internal.passesOver(typeUrl)) this.#internal.passOver({ typeUrl, nonce, versionInfo });
  }

  #warnSlow(waitedMs: number): void {
    const name = this.kind === "delta" ? "sendDownstreamDelta" : "sendDownstream";
    this.#log.warn(`${name} took ${(waitedMs / 1000).toFixed(3)}s`);
  }

  #ask(request: AgentRequest): void {
    this.#enqueue(encodeAgentRequest(this.kind, request));
  }

  #enqueue(message: Buffer): void {
    if (this.#sender === undefined) return;
    this.#messages.request(message);
    this.#sender.enqueue(message);
  }
}
