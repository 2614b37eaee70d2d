import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { errorMessage } from "../../base/coded-error.ts";
import { type KeepaliveOptions, startKeepalive } from "../keepalive.ts";
import { describePeer } from "./peer.ts";
import { isTooManyPings, nextPingState, noPings, type PingPolicy } from "./ping-policy.ts";
import { type Dispatcher, dispatchStream } from "./server-dispatch.ts";
import type { Traffic } from "./server-stream.ts";

export interface SessionLimits {
  readonly maxConcurrentStreams: number;
  readonly maxHeaderBytes: number;
  /** How much a stream may send before its reader has to catch up; also the connection's window. */
  readonly windowBytes: number;
}

export interface ServerSessionOptions {
  readonly dispatcher: Dispatcher;
  readonly limits: SessionLimits;
  readonly keepalive: KeepaliveOptions | undefined;
  readonly pingPolicy: PingPolicy | undefined;
  readonly onOtherRequest?: ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) | undefined;
}

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
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
    traffic.openCalls++;
    stream.once("close", () => void traffic.openCalls--);
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
  if (options.pingPolicy !== undefined) enforcePingPolicy(session, options.pingPolicy, traffic);
  if (options.keepalive !== undefined) {
    const onDead = () => {
      dispatcher.log.debug("gRPC client does not answer pings", { peer: peer.address });
      session.destroy();
    };
    session.once("close", startKeepalive(options.keepalive, { session, socket, isActive: () => true, onDead }));
  }
  return session;
}

function enforcePingPolicy(session: ServerHttp2Session, policy: PingPolicy, traffic: Traffic): void {
  let pings = noPings;
  let answersSeen = 0;
  session.on("ping", () => {
    const { openCalls, answers } = traffic;
    pings = nextPingState(policy, pings, { now: Date.now(), openCalls, hasSent: answers > answersSeen });
    answersSeen = answers;
    if (!isTooManyPings(pings)) return;
    session.goaway(ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
    session.destroy();
  });
}
