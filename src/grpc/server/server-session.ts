import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { errorMessage } from "../../base/coded-error.ts";
import { type KeepaliveOptions, startKeepalive } from "../../net/http2/keepalive.ts";
import { describePeer } from "./peer.ts";
import { isTooManyPings, nextPingState, noPings, type PingPolicy } from "./ping-policy.ts";
import { type Dispatcher, dispatchStream } from "./server-dispatch.ts";
import type { Traffic } from "./server-stream.ts";

/** What a client may send that costs the server more than the client. */
export interface FloodLimits {
  /** PING and SETTINGS of a client that was sent nothing meanwhile; each has to be acknowledged. */
  readonly controlFrames: FloodLimit;
  /** Streams that are reset within their first second; older ones may end together, as when a gateway drops its listeners. */
  readonly earlyResets: FloodLimit;
}

export const FLOOD_LIMITS: FloodLimits = {
  controlFrames: { perSecond: 100, burst: 500 },
  earlyResets: { perSecond: 100, burst: 500 },
};
const EARLY_RESET_MS = 1000;
export const noFlood = ({ burst }: FloodLimit, now: number): FloodState => ({ tokens: burst, at: now });

export interface SessionLimits {
  readonly maxConcurrentStreams: number;
  readonly maxHeaderBytes: number;
  /** How much a stream may send before its reader has to catch up; also the connection's window. */
  readonly windowBytes: number;
}

export interface ServerSessionOptions {
  readonly dispatcher: Dispatcher;
  readonly limits: SessionLimits;
  readonly floodLimits: FloodLimits;
  readonly keepalive: KeepaliveOptions | undefined;
  readonly pingPolicy: PingPolicy | undefined;
  /** The last open call has ended. */
  readonly onIdle: () => void;
  /** The first call is open. */
  readonly onBusy: () => void;
  readonly onOtherRequest?: ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) | undefined;
}

const NO_ERROR = 0;
const ENHANCE_YOUR_CALM = 11;

/** Speaks HTTP/2 on an accepted connection and hands each request to the dispatcher, until either side closes. */
export function startServerSession(socket: Socket, options: ServerSessionOptions): ServerHttp2Session {
  const { dispatcher, limits } = options;
  const peer = describePeer(socket);
  const session = performServerHandshake(socket, {
    // Bounded by the window and the number of streams instead; the default would refuse new calls while a large message passes.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
      initialWindowSize: limits.windowBytes,
      enablePush: false,
    },
  });
  session.setLocalWindowSize(Math.max(limits.windowBytes, 65_535));
  const traffic: Traffic = { openCalls: 0, answers: 0 };
  const cutOff = (reason: string) => {
    if (session.destroyed) return;
    session.goaway(ENHANCE_YOUR_CALM, 0, Buffer.from(reason));
    session.destroy(new Error(`cut off: ${reason}`), ENHANCE_YOUR_CALM);
  };
  const countReset = createFloodGuard(options.floodLimits.earlyResets, () => cutOff("too_many_resets"));
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
    const openedAt = Date.now();
    if (traffic.openCalls++ === 0) options.onBusy();
    stream.once("close", () => {
      if (--traffic.openCalls === 0) options.onIdle();
      if (stream.rstCode !== NO_ERROR && Date.now() - openedAt < EARLY_RESET_MS) countReset();
    });
    if (options.onOtherRequest !== undefined && !headers["content-type"]?.startsWith("application/grpc")) {
      return options.onOtherRequest(stream, headers);
    }
    dispatchStream(dispatcher, stream, { headers, rawHeaders, peer, traffic });
  };
  session.on("stream", onStream);
  session.on("error", (failure) => {
    dispatcher.log.debug("gRPC connection failed", { peer: peer.address, error: errorMessage(failure) });
  });
  socket.on("error", () => session.destroy()); // a TLS alert after the handshake does not end the session by itself
  limitControlFrames(session, options.floodLimits.controlFrames, traffic, cutOff);
  if (options.pingPolicy !== undefined) enforcePingPolicy(session, options.pingPolicy, traffic, cutOff);
  if (options.keepalive !== undefined) {
    const onDead = () => {
      dispatcher.log.debug("gRPC client does not answer pings", { peer: peer.address });
      session.destroy();
    };
    session.once("close", startKeepalive(options.keepalive, { session, socket, isActive: () => true, onDead }));
  }
  return session;
}

function createFloodGuard(limit: FloodLimit, onFlood: () => void): () => void {
  let state = noFlood(limit, Date.now());
  return () => {
    state = nextFloodState(limit, state, Date.now());
    if (isFlood(state)) onFlood();
  };
}

function limitControlFrames(
  session: ServerHttp2Session,
  limit: FloodLimit,
  traffic: Traffic,
  cutOff: (reason: string) => void,
): void {
  let answersSeen = 0;
  const count = createFloodGuard(limit, () => cutOff("too_many_control_frames"));
  const onFrame = () => {
    // Clients measure a connection that brings them messages with pings.
    if (traffic.answers === answersSeen) count();
    answersSeen = traffic.answers;
  };
  session.on("ping", onFrame);
  session.on("remoteSettings", onFrame);
}

function enforcePingPolicy(
  session: ServerHttp2Session,
  policy: PingPolicy,
  traffic: Traffic,
  cutOff: (reason: string) => void,
): void {
  let pings = noPings;
  let answersSeen = 0;
  session.on("ping", () => {
    const { openCalls, answers } = traffic;
    pings = nextPingState(policy, pings, { now: Date.now(), openCalls, hasSent: answers > answersSeen });
    answersSeen = answers;
    if (isTooManyPings(pings)) cutOff("too_many_pings");
  });
}

/** How often a client may do what costs the server more than the client. */
export interface FloodLimit {
  readonly perSecond: number;
  /** At once, after a while without any. */
  readonly burst: number;
}

/** A bucket that fills at a steady rate; each frame takes a token. */
interface FloodState {
  readonly tokens: number;
  readonly at: number;
}

export function nextFloodState({ perSecond, burst }: FloodLimit, state: FloodState, now: number): FloodState {
  const refilled = state.tokens + ((now - state.at) * perSecond) / 1000;
  return { tokens: Math.min(burst, refilled) - 1, at: now };
}

export function isFlood(state: FloodState): boolean {
  return state.tokens < 0;
}
