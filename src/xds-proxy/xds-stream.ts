import type { Logger } from "../base/logger.ts";
import type { GrpcChannel, GrpcError, RawServerCall } from "../grpc/index.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { LISTENER_TYPE } from "../xds/type-urls.ts";
import type { BufferCollector } from "./buffer-collector.ts";
import { openInbox } from "./client-inbox.ts";
import type { RequestFacts } from "./core/request-facts.ts";
import { anyValue, type ServeOptions, serveLastGood } from "./last-good/serve-last-good.ts";
import type { LastGood } from "./last-good/start-last-good.ts";
import { createMessageLog, type MessageLog } from "./message-log.ts";
import type { Upstream } from "./open-upstream.ts";
import type { StreamCounts, StreamDescription, XdsProxyOptions } from "./options.ts";
import { isAnswering } from "./probe-upstream.ts";
import { judgeUnanswered, reachUpstream } from "./reach-upstream.ts";
import { type StreamRelay, startRelay } from "./relay-stream.ts";
import { type StreamEnd, toStatus } from "./stream-end.ts";
import type { RegisteredStream } from "./stream-registry.ts";

export interface XdsStreamHooks {
  readonly buffers: BufferCollector;
  /** The stream has introduced its node, or the control plane it did that to is gone. */
  onIntroduced(): void;
  /** Whether some stream carries the agent's own subscriptions. */
  hasPrimary(): boolean;
  onRequestBytes(bytes: number): void;
  /** How many there are, this one included. */
  streams(): number;
  /** A connection that was made ahead. */
  takeWarmUpstream(): GrpcChannel | undefined;
  /** What the primary stream sends besides the subscriptions, in the order it is to be sent. */
  storedRequests(kind: XdsProtocol): readonly Buffer[];
}

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
  readonly #counts: StreamCounts = { requests: 0, responses: 0, lastResponseAt: undefined };
  #relay: StreamRelay | undefined;
  #upstream: Upstream | undefined;
  #source: StreamDescription["source"] = "control-plane";
  #isReset = false;
  #nodeId = "";
  #node: Buffer | undefined;

  constructor(id: number, kind: XdsProtocol, options: XdsProxyOptions, hooks: XdsStreamHooks) {
    this.id = id;
    this.kind = kind;
    this.#options = options;
    this.#hooks = hooks;
    this.#log = options.log.with({ id });
    this.#messages = createMessageLog(kind, this.#log);
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
      this.#relay = startRelay(this.#options, {
        kind: this.kind,
        downstream,
        upstream,
        inbox,
        counts: this.#counts,
        buffers: this.#hooks.buffers,
        messages: this.#messages,
        log: this.#log,
        onRequest: (facts, bytes) => this.#onRequest(facts, bytes),
        onRequestSent: ({ typeUrl }) => this.#onRequestSent(typeUrl),
      });
      end = await this.#relay.ended;
    } finally {
      this.#relay = undefined;
      this.#upstream = undefined;
      upstream.call.end();
      await upstream.close();
      this.#log.debug(`disconnected from ${delta}XDS server: ${address}`);
    }
    if (this.#isReset) return;
    const unanswered = this.#counts.responses === 0 ? judgeUnanswered(this.#options.lastGood, end) : undefined;
    if (unanswered !== undefined && inbox.canRepeat) {
      await this.#serve(downstream, (take) => inbox.repeat(take), unanswered.failure);
    } else if (end.failure !== undefined) throw toStatus(end.failure);
  }

  /** The client's node as it was sent; undefined before its first request. */
  get node(): Buffer | undefined {
    return this.#node;
  }

  /** Agent-made requests, once the control plane knows the node; without effect before. */
  send(message: Buffer): void {
    if (this.isIntroduced) this.#relay?.send(message);
  }

  /** Ends cleanly; the client opens another one. */
  reset(): void {
    if (this.#upstream === undefined) return;
    this.#isReset = true;
    this.#upstream.call.cancel();
  }

  /** Streams have come or gone: with many of them, each may hold less. */
  shareMemory(streams: number): void {
    this.#upstream?.shareMemory(streams);
  }

  becomePrimary(): void {
    this.#relay?.subscribe();
    for (const message of this.#hooks.storedRequests(this.kind)) this.send(message);
  }

  resignPrimary(): void {
    this.#relay?.unsubscribe();
  }

  describe(primary: boolean): StreamDescription {
    const { id, kind } = this;
    return { id, kind, nodeId: this.#nodeId, primary, ...this.#counts, source: this.#source };
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

  #onRequest(facts: RequestFacts, bytes: number): void {
    this.#counts.requests += 1;
    this.#hooks.onRequestBytes(bytes);
    if (facts.node !== undefined) {
      this.#nodeId = facts.nodeId;
      this.#node = Buffer.from(facts.node);
    }
    if (facts.isEnvoy) this.isEnvoy = true;
  }

  #onRequestSent(typeUrl: string): void {
    if (typeUrl !== LISTENER_TYPE || this.isIntroduced) return;
    this.isIntroduced = true;
    this.#hooks.onIntroduced();
  }
}

interface WithoutUpstream {
  readonly kind: XdsProtocol;
  readonly downstream: RawServerCall;
  receive: ServeOptions["receive"];
  readonly lastGood: LastGood;
  readonly failure: GrpcError;
  readonly log: Logger;
  onServing(): void;
  /** Whether the agent's own parts have nothing newer to go by. */
  feedsHandlers(): boolean;
}

/** Serves a starting client from the last known good configuration, and the agent's own parts from the same. */
async function serveWithoutUpstream(options: XdsProxyOptions, stream: WithoutUpstream): Promise<void> {
  const { metrics, handlers } = options;
  const { kind, downstream, lastGood, failure, log, receive } = stream;
  let isServing = false;
  try {
    await serveLastGood({
      kind,
      downstream,
      receive,
      lastGood,
      failure,
      onServing(savedAt) {
        isServing = true;
        stream.onServing();
        metrics.lastGoodStreams.add(1);
        const from = new Date(savedAt).toISOString();
        log.warn(`no control plane can be reached; serving last known good from ${from}`);
        if (!stream.feedsHandlers()) return;
        for (const { typeUrl, handle } of handlers) {
          const any = lastGood.current()?.snapshot.get(typeUrl)?.resources.get("")?.any;
          if (any !== undefined) handle(anyValue(any));
        }
      },
      async probe(request, signal) {
        if (await isAnswering(options.upstream, { kind, request, signal })) lastGood.noteReachable();
      },
    });
    log.info("the control plane is back; the client is asked to reconnect");
  } finally {
    if (isServing) metrics.lastGoodStreams.add(-1);
  }
}
