import { CodedError, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Metadata, Peer } from "../../grpc/index.ts";
import { parseCertificate } from "../../protocol/x509/certificate.ts";

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
  /** The pod that its token is bound to, where an API server said so; empty where it is bound to none. */
  readonly pod?: { readonly name: string; readonly uid: string };
  /** The cluster that it says it is in, where it named one. */
  readonly clusterId?: string;
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

/** The first authenticator, in order, that yields an identity; undefined, with the reasons in the log, when none does. */
export async function authenticate(
  authenticators: readonly Authenticator[],
  request: AuthRequest,
  options: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<Caller | undefined> {
  const reasons: string[] = [];
  for (const authenticator of authenticators) {
    try {
      const caller = await authenticator.authenticate(request, options.signal);
      if (caller.identities.length > 0) return caller;
      reasons.push(`${authenticator.name}: no identity`);
    } catch (failure) {
      reasons.push(`${authenticator.name}: ${errorMessage(failure)}`);
    }
  }
  options.log.error("failed to authenticate request", { peer: request.peer.address, reasons: reasons.join("; ") });
  return undefined;
}

/** Accepts callers whose TLS certificate was verified; all its SAN values are identities. */
export function clientCertificateAuthenticator(): Authenticator {
  const name = "ClientCertAuthenticator";
  return {
    name,
    authenticate: async ({ peer }) => {
      const certificate = peer.tls?.certificate;
      if (peer.tls === undefined) throw new AuthenticationError("no-credentials", 'unsupported auth type: ""');
      if (certificate === undefined) {
        throw new AuthenticationError("no-credentials", "no client certificate is presented");
      }
      if (!peer.tls.authorized) throw new AuthenticationError("refused", "no verified chain is found");
      const { names } = parseCertificate(certificate.raw);
      const identities = names.map((one) => one.value).filter((value) => value !== "");
      if (identities.length === 0) throw new AuthenticationError("refused", "the SAN extension does not exist");
      return { identities, source: name };
    },
  };
}
