import { errorCode } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { untilAborted, wait } from "../base/wait.ts";
import { type GrpcChannel, GrpcError, rpcErrorText } from "../grpc/index.ts";
import { ADS_PATHS, type XdsProtocol } from "../xds/methods.ts";
import { canServe } from "./last-good/serve-last-good.ts";
import type { LastGood } from "./last-good/start-last-good.ts";
import { SilentUpstream, unlessSilent } from "./last-good/until-silent.ts";
import { openUpstream, TokenError, type Upstream } from "./open-upstream.ts";
import type { XdsProxyOptions } from "./options.ts";
import { isRefusal } from "./probe-upstream.ts";
import { type StreamEnd, toStatus } from "./stream-end.ts";

export interface Reaching {
  readonly kind: XdsProtocol;
  /** The client's first request. */
  readonly first: Promise<Buffer>;
  /** The client has left. */
  readonly signal: AbortSignal;
  readonly streams: number;
  /** Made ahead, when there is one. */
  readonly channel: GrpcChannel | undefined;
  readonly log: Logger;
}

/** No control plane was reached for long enough: a client that starts may be served without; others get the failure. */
export interface NoUpstream {
  readonly failure: GrpcError;
}

/** Between two attempts for a client that is held. */
const RETRY_MS = 500;

/**
 * Opens the client's stream to the control plane. Rejects with the status that the client is to see. An Envoy that starts, and could be
 * served without, is served at once where nothing listens for the control plane. After other failures it is held until that is due, and
 * the control plane is tried meanwhile: on its own it would come back up to 30 s later.
 */
export async function reachUpstream(options: XdsProxyOptions, reaching: Reaching): Promise<Upstream | NoUpstream> {
  const { lastGood } = options;
  const { kind, first, signal } = reaching;
  for (let channel = reaching.channel; ; channel = undefined) {
    const failure = await openOnce(options, reaching, channel).catch((thrown: unknown) => {
      if (lastGood !== undefined && isOutage(thrown)) return thrown;
      throw thrown;
    });
    if (!(failure instanceof GrpcError)) return failure;
    if (lastGood === undefined) throw failure;
    lastGood.noteUnreachable();
    if (failure instanceof SilentUpstream || isRefused(failure) || lastGood.dueInMs() <= 0) return { failure };
    const request = await Promise.race([first, untilAborted(signal)]);
    if (request === undefined || !canServe(lastGood, kind, request)) throw failure;
    await wait(Math.min(RETRY_MS, lastGood.dueInMs()), signal);
    if (signal.aborted) throw failure;
  }
}

/** Whether there was no control plane to refuse the stream: it cannot be reached, or the token for it cannot be had. */
function isOutage(failure: unknown): failure is GrpcError {
  return failure instanceof TokenError || (failure instanceof GrpcError && failure.code === "UNAVAILABLE");
}

/** By the machine itself: there is no one whose answer could be waited for. */
function isRefused({ cause }: GrpcError): boolean {
  return errorCode(cause) === "ECONNREFUSED";
}

async function openOnce(
  { metrics, upstream, lastGood }: XdsProxyOptions,
  { kind, first, signal, streams, log }: Reaching,
  channel: GrpcChannel | undefined,
): Promise<Upstream> {
  const givenUp = new AbortController();
  const opening = openUpstream(upstream, ADS_PATHS[kind], {
    signal: AbortSignal.any([signal, givenUp.signal]),
    streams,
    takesGzip: upstream.compression,
    channel,
  });
  try {
    const opened = await unlessSilent(opening, lastGood, { kind, first, isAnswered: () => false });
    lastGood?.noteConnected();
    return opened;
  } catch (failure) {
    // A client that left or a token that cannot be had says nothing about the connection.
    if (failure instanceof GrpcError && failure.code === "UNAVAILABLE") metrics.connectionFailures.inc();
    metrics.upstreamTerminations.inc(["error"]);
    log.debug(`failed to create ${kind === "delta" ? "delta " : ""}upstream grpc client: ${rpcErrorText(failure)}`);
    givenUp.abort();
    await opening.then(
      (late) => late.close(),
      () => undefined,
    );
    throw failure;
  }
}

/** What a stream that ended without a single response says about the control plane; undefined when its end is the client's affair. */
export function judgeUnanswered(lastGood: LastGood | undefined, { side, failure }: StreamEnd): NoUpstream | undefined {
  if (lastGood === undefined || side === "downstream") return undefined;
  if (isRefusal(failure)) {
    lastGood.noteReachable();
    return undefined;
  }
  lastGood.noteUnreachable();
  if (!(failure instanceof SilentUpstream) && lastGood.dueInMs() > 0) return undefined;
  const text = "the control plane ended the stream without a response";
  return { failure: toStatus(failure ?? new GrpcError("UNAVAILABLE", text)) };
}
