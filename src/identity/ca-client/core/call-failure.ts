import { errorCode } from "../../../base/coded-error.ts";
import { type GrpcError, rpcErrorText } from "../../../grpc/index.ts";
import type { GrpcStatusName } from "../../../protocol/grpc-status-names.ts";
import { CaError, type CaErrorCode } from "../ca-error.ts";

export interface CallTarget {
  readonly endpoint: string;
  readonly serverName: string;
  /** What to call the roots in a message: a path, or "system". */
  readonly rootName: string;
}

/** OpenSSL's and node's names for a certificate that does not lead to a trusted root. */
const NOT_TRUSTED = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
  "CERT_CHAIN_TOO_LONG",
]);

const BY_STATUS: Partial<Record<GrpcStatusName, CaErrorCode>> = {
  UNAVAILABLE: "unreachable",
  DEADLINE_EXCEEDED: "timeout",
  CANCELLED: "cancelled",
  UNAUTHENTICATED: "unauthenticated",
  PERMISSION_DENIED: "unauthenticated",
};

/** A failed call in words that tell an operator what to look at. */
export function callFailure(failure: GrpcError, target: CallTarget): CaError {
  // The roots are read at each handshake: a file that went bad meanwhile surfaces as a failed connection.
  const own = causes(failure).find((cause): cause is CaError => cause instanceof CaError);
  if (own !== undefined) return new CaError(own.code, `CA at ${target.endpoint}: ${own.message}`, { cause: failure });
  const trust = trustProblem(failure, target);
  const text = trust ?? `create certificate: ${rpcErrorText(failure)}`;
  const code = trust === undefined ? (BY_STATUS[failure.code] ?? "rejected") : "untrusted";
  return new CaError(code, `CA at ${target.endpoint}: ${text}`, { cause: failure });
}

function trustProblem(failure: unknown, target: CallTarget): string | undefined {
  for (const cause of causes(failure)) {
    const code = errorCode(cause) ?? "";
    const root = `(root used: ${target.rootName})`;
    if (NOT_TRUSTED.has(code)) return `certificate not trusted ${root}`;
    if (code === "CERT_HAS_EXPIRED") return `certificate has expired ${root}`;
    if (code === "CERT_NOT_YET_VALID") return `certificate is not valid yet ${root}`;
    if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `certificate is not for ${target.serverName} ${root}`;
  }
  return undefined;
}

function causes(failure: unknown): Error[] {
  const found: Error[] = [];
  for (let cause: unknown = failure; cause instanceof Error && !found.includes(cause); cause = cause.cause)
    found.push(cause);
  return found;
}
