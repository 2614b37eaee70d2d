import { CodedError } from "../../base/coded-error.ts";
import type { Metadata, Peer } from "../../grpc/index.ts";

/** Why one authenticator did not accept a caller. Goes to the log only: a stranger learns nothing but that he was refused. */
export class AuthenticationError extends CodedError<"no-credentials" | "refused" | "unavailable"> {}

/** What an authenticator sees of a call; every server call of the gRPC layer fits. */
export interface AuthRequest {
  readonly peer: Peer;
  readonly metadata: Metadata;
}

export interface Caller {
  /** At least one; SPIFFE ids for workloads. */
  readonly identities: readonly string[];
  /** Name of the authenticator that vouches for them. */
  readonly source: string;
}

/** Rejects with an `AuthenticationError` when the call carries nothing it accepts. */
export interface Authenticator {
  readonly name: string;
  authenticate(request: AuthRequest, signal: AbortSignal): Promise<Caller>;
}

const BEARER = "Bearer ";

/** The first bearer token of the call. */
export function bearerToken(metadata: Metadata): string {
  for (const value of metadata.getAll("authorization")) {
    if (typeof value === "string" && value.startsWith(BEARER)) return value.slice(BEARER.length);
  }
  throw new AuthenticationError("no-credentials", "no bearer token in the authorization metadata");
}
