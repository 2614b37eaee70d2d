import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import { type Authenticator, authenticate } from "../../ca/index.ts";
import { GrpcError, type ServerCall } from "../../grpc/index.ts";
import { splitHostPort } from "../../net/host-port.ts";
import { isLoopback } from "../../net/ip.ts";
import { fullRate, type StreamRateLimits, takeStream } from "./core/stream-start.ts";

export interface AdmissionOptions {
  readonly isReady: () => boolean;
  readonly rate: StreamRateLimits;
  /** Tried in order on TLS connections; without any, no client can be authenticated. */
  readonly authenticators: readonly Authenticator[];
  /** `XDS_AUTH`: false authenticates no client. */
  readonly requiresIdentity: boolean;
  /** `XDS_AUTH_PLAINTEXT`: clients without TLS have to show a token as well. */
  readonly requiresPlaintextIdentity: boolean;
  /** Clients without TLS may come from other machines. */
  readonly allowsRemotePlaintext: boolean;
  readonly log: Logger;
  readonly now: () => number;
}

/** Decides about a stream before its first message is looked at. Resolves to the client's identities. */
export function createAdmission(options: AdmissionOptions): (call: ServerCall) => Promise<readonly string[]> {
  let rate = fullRate(options.rate, options.now());
  return async (call) => {
    if (!options.isReady()) {
      throw new GrpcError("UNAVAILABLE", "server is not ready to serve discovery information");
    }
    const isPlaintext = call.peer.tls === undefined;
    if (isPlaintext && !options.allowsRemotePlaintext && !isLocal(call.peer.address)) {
      const reason = "plaintext xDS is for clients on this machine: use the TLS port";
      throw new GrpcError("PERMISSION_DENIED", reason);
    }
    const taken = takeStream(rate, options.rate, options.now());
    rate = taken.rate;
    if (taken.waitMs === undefined) throw new GrpcError("RESOURCE_EXHAUSTED", "request rate limit exceeded");
    if (taken.waitMs > 0) await wait(taken.waitMs, call.signal);
    if (!options.requiresIdentity || (isPlaintext && !options.requiresPlaintextIdentity)) return [];
    const caller = await authenticate(options.authenticators, call, { signal: call.signal, log: options.log });
    if (caller === undefined) throw new GrpcError("UNAUTHENTICATED", "authentication failure");
    return caller.identities;
  };
}

/** The other end of the connection, never a header. Unix sockets are on this machine by nature. */
export function isLocal(peerAddress: string): boolean {
  if (peerAddress === "unix") return true;
  const split = splitHostPort(peerAddress);
  return !("problem" in split) && isLoopback(split.host);
}
