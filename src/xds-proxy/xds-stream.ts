import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { assembleMessages, GrpcError, type RawServerCall, rpcErrorText } from "../grpc/index.ts";
import { type AgentRequest, encodeAgentRequest, type ProtocolKind, STREAM_PATHS } from "./core/protocol-kind.ts";
import { type RequestFacts, scanRequest } from "./core/request-facts.ts";
import { classifyTermination, terminationLabel } from "./core/termination.ts";
import { isForwardedType, LISTENER_TYPE, shortTypeName } from "./core/type-urls.ts";
import { answerInternal } from "./internal-response.ts";
import { openUpstream, type Upstream } from "./open-upstream.ts";
import type { StreamDescription, XdsProxyOptions } from "./options.ts";
import { createRequestSender, type RequestSender } from "./request-sender.ts";
import { createResponseRelay, type ResponseAction } from "./response-relay.ts";
import type { RegisteredStream } from "./stream-registry.ts";

export interface XdsStreamHooks {
  /** The stream has introduced its node, or has ended. */
  onIntroduced(): void;
  onRequestBytes(bytes: number): void;
  /** What the primary stream sends besides the subscriptions, in the order it is to be sent. */
  storedRequests(kind: ProtocolKind): readonly Buffer[];
}

/** One client's stream and its own stream to the control plane; they begin and end together. */
export class XdsStream implements RegisteredStream {
  readonly id: number;
  readonly kind: ProtocolKind;
  isEnvoy = false;
  isIntroduced = false;

  readonly #options: XdsProxyOptions;
  readonly #hooks: XdsStreamHooks;
  readonly #log: Logger;
  readonly #acceptedVersions = new Map<string, string>();
  #sender: RequestSender | undefined;
  #subscribed = false;
  #nodeId = "";
  #requests = 0;
  #responses = 0;
  #lastResponseAt: number | undefined;

  constructor(id: number, kind: ProtocolKind, options: XdsProxyOptions, hooks: XdsStreamHooks) {
    this.id = id;
    this.kind = kind;
    this.#options = options;
    this.#hooks = hooks;
    this.#log = options.log.with({ id });
  }

  /** Resolves when either side ended cleanly; rejects with the status the client is to see. */
  async run(downstream: RawServerCall): Promise<void> {
    const { address } = this.#options.upstream;
    const delta = this.kind === "delta" ? "delta " : "";
    this.#log.debug("accepted XDS connection from Envoy, forwarding to upstream XDS server");
    const upstream = await this.#open(downstream);
    this.#log.info(`connected to ${delta}upstream XDS server: ${address}`);
    try {
      await this.#relay(downstream, upstream);
    } finally {
      upstream.call.end();
      await upstream.close();
      this.#log.debug(`disconnected from ${delta}XDS server: ${address}`);
    }
  }

  /** Agent-made requests, once the control plane knows the node; without effect before. */
  send(message: Buffer): void {
    if (this.isIntroduced) this.#sender?.enqueue(message);
  }

  becomePrimary(): void {
    if (!this.#subscribed) {
      this.#subscribed = true;
      for (const { typeUrl } of this.#options.handlers) this.#ask({ typeUrl });
    }
    for (const message of this.#hooks.storedRequests(this.kind)) this.send(message);
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
    };
  }

  async #open(downstream: RawServerCall): Promise<Upstream> {
    const { metrics, upstream } = this.#options;
    try {
      return await openUpstream(upstream, STREAM_PATHS[this.kind], downstream.signal);
    } catch (failure) {
      metrics.connectionFailures.inc();
      metrics.upstreamTerminations.inc(["error"]);
      this.#log.debug(`failed to connect to upstream ${upstream.address}: ${rpcErrorText(failure)}`);
      throw failure;
    }
  }

  async #relay(downstream: RawServerCall, upstream: Upstream): Promise<void> {
    const sender = createRequestSender(upstream.call, () => this.#options.metrics.requests.inc());
    this.#sender = sender;
    const relay = createResponseRelay({
      kind: this.kind,
      downstream,
      decide: (typeUrl) => this.#decide(typeUrl),
      onHeld: (typeUrl, message) => this.#answer(typeUrl, message),
      onResponse: (facts, bytes, action) => this.#onResponse(facts, bytes, action),
    });
    const fromClient = settle("downstream", downstream.readFrames(assembleMessages((bytes) => this.#onRequest(bytes))));
    const fromServer = settle("upstream", upstream.call.readFrames(relay.sink));
    const sending = settle("upstream", sender.failed);
    const first = await Promise.race([fromClient, fromServer, sending]);
    this.#count(first);
    if (first.failure !== undefined) throw toStatus(first.failure);
  }

  #onRequest(bytes: Buffer): void {
    const facts = this.#scan(bytes);
    this.#requests += 1;
    this.#hooks.onRequestBytes(bytes.length);
    if (facts.nodeId !== "") this.#nodeId = facts.nodeId;
    if (facts.isEnvoy) this.isEnvoy = true;
    this.#log.debug(`request for type url ${shortTypeName(facts.typeUrl)}`, {
      nonce: facts.responseNonce,
      nack: facts.isNack,
    });
    this.#sender?.enqueue(bytes);
    if (facts.typeUrl !== LISTENER_TYPE || this.isIntroduced) return;
    this.isIntroduced = true;
    this.#hooks.onIntroduced();
  }

  #scan(bytes: Buffer): RequestFacts {
    try {
      return scanRequest(this.kind, bytes);
    } catch (cause) {
      throw new GrpcError("INTERNAL", `grpc: failed to unmarshal the received message: ${errorMessage(cause)}`, {
        cause,
      });
    }
  }

  #decide(typeUrl: string): ResponseAction {
    if (this.#handlerOf(typeUrl) !== undefined) return "hold";
    if (isForwardedType(typeUrl)) return "forward";
    this.#log.error(`Skipping forwarding type url ${typeUrl} to Envoy as is not a valid Envoy type`);
    return "drop";
  }

  #answer(typeUrl: string, message: Buffer): void {
    const handler = this.#handlerOf(typeUrl);
    if (handler === undefined) return;
    const answer = answerInternal(this.kind, handler, message, this.#acceptedVersions.get(typeUrl) ?? "");
    if (answer.error === undefined) this.#acceptedVersions.set(typeUrl, answer.versionInfo ?? "");
    else this.#log.error(`${shortTypeName(typeUrl)} response refused: ${answer.error.message}`);
    this.#ask(answer);
  }

  #onResponse(
    facts: { readonly typeUrl: string | undefined; readonly nonce: string; readonly resourceCount: number },
    bytes: number,
    action: ResponseAction,
  ): void {
    this.#responses += 1;
    this.#lastResponseAt = Date.now();
    this.#options.metrics.responses.inc();
    if (!this.#log.enabled("debug")) return;
    const { nonce, resourceCount: resources } = facts;
    this.#log.debug(`response for type url ${shortTypeName(facts.typeUrl ?? "")}`, { nonce, resources, bytes, action });
  }

  #ask(request: AgentRequest): void {
    this.#sender?.enqueue(encodeAgentRequest(this.kind, request));
  }

  #handlerOf(typeUrl: string) {
    return this.#options.handlers.find((handler) => handler.typeUrl === typeUrl);
  }

  /** The side that ended first counts by its own class, the other one always as cancelled: it is ended with it. */
  #count({ side, failure }: Settled): void {
    const { metrics } = this.#options;
    const termination = classifyTermination(failure);
    const text = failure === undefined ? "<nil>" : rpcErrorText(failure);
    if (termination === "unexpected") this.#log.warn(`${side} terminated with unexpected error ${text}`);
    else this.#log.debug(`${side} terminated with status ${text}`);
    const label = terminationLabel(termination);
    metrics.upstreamTerminations.inc([side === "upstream" ? label : "cancelled"]);
    metrics.downstreamTerminations.inc([side === "downstream" ? label : "cancelled"]);
  }
}

interface Settled {
  readonly side: "upstream" | "downstream";
  readonly failure: unknown;
}

function settle(side: Settled["side"], work: Promise<unknown>): Promise<Settled> {
  return work.then(
    () => ({ side, failure: undefined }),
    (failure: unknown) => ({ side, failure }),
  );
}

function toStatus(failure: unknown): GrpcError {
  if (failure instanceof GrpcError) return failure;
  return new GrpcError("UNKNOWN", errorMessage(failure), { cause: failure });
}
