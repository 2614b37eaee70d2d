import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { createCertificate, GrpcError, type Implementation, implement, type ServerCall } from "../grpc/index.ts";
import { requestMetadataText } from "../protobuf/wire/istio-ca.ts";
import type { GrpcStatusName } from "../protocol/grpc-status-names.ts";
import { type Authenticator, authenticate, type Caller } from "./authenticators/authenticator.ts";
import type { Authority } from "./authority.ts";
import { SignError } from "./ca-server-error.ts";
import type { CaServerMetrics } from "./metrics.ts";

export interface CertificateServiceOptions {
  readonly authority: Pick<Authority, "sign">;
  /** Tried in order; the first that yields an identity wins. */
  readonly authenticators: readonly Authenticator[];
  readonly metrics: CaServerMetrics;
  readonly log: Logger;
  /** `XDS_AUTH_PLAINTEXT`: tokens are accepted over connections without TLS, where they can be read in transit. */
  readonly allowsPlaintext?: boolean;
  /** Why the caller may not have a certificate for another identity (node proxies); undefined: it may. No caller may when absent. */
  readonly impersonationProblem?: (caller: Caller, identity: string) => Promise<string | undefined>;
}

const STATUS: Readonly<Record<SignError["code"], GrpcStatusName>> = {
  CA_NOT_READY: "INTERNAL",
  CERT_GEN_ERROR: "INTERNAL",
  CSR_ERROR: "INVALID_ARGUMENT",
  TTL_ERROR: "INVALID_ARGUMENT",
};

/** `istio.v1.auth.IstioCertificateService`, to be mounted on a gRPC server. */
export function certificateService(options: CertificateServiceOptions): Implementation {
  const { metrics, log } = options;
  return implement(createCertificate, async (request, call) => {
    metrics.csrs.inc();
    const caller = await authenticatedCaller(options, call);
    if (caller === undefined) {
      metrics.authenticationFailures.inc();
      throw new GrpcError("UNAUTHENTICATED", "request authenticate failure");
    }
    const identities = await grantedIdentities(
      options,
      caller,
      requestMetadataText(request.metadata, "ImpersonatedIdentity"),
    );
    try {
      const certChain = await options.authority.sign({
        csrPem: request.csr,
        identities,
        ttlSeconds: request.validityDuration,
      });
      metrics.issued.inc();
      log.debug("CSR signed", { identity: identities[0], authenticator: caller.source });
      return { certChain };
    } catch (cause) {
      const code = cause instanceof SignError ? cause.code : "CERT_GEN_ERROR";
      metrics.signFailures.inc([code]);
      log.error("CSR signing error", { identity: identities[0], error: errorMessage(cause) });
      throw new GrpcError(STATUS[code], `CSR signing error (${errorMessage(cause)})`, { cause });
    }
  });
}

async function authenticatedCaller(options: CertificateServiceOptions, call: ServerCall): Promise<Caller | undefined> {
  const { log } = options;
  if (call.peer.tls === undefined && options.allowsPlaintext !== true) {
    log.error("failed to authenticate request", {
      peer: call.peer.address,
      reasons: "the connection is not encrypted",
    });
    return undefined;
  }
  return authenticate(options.authenticators, call, { signal: call.signal, log });
}

async function grantedIdentities(
  options: CertificateServiceOptions,
  caller: Caller,
  impersonated: string,
): Promise<readonly string[]> {
  if (impersonated === "") return caller.identities;
  const { impersonationProblem = async () => "CA_TRUSTED_NODE_ACCOUNTS names no account" } = options;
  const reason = await impersonationProblem(caller, impersonated);
  if (reason === undefined) return [impersonated];
  // A stranger must not learn which pods run where.
  options.log.warn("impersonation refused", { caller: caller.identities[0], identity: impersonated, reason });
  options.metrics.authenticationFailures.inc();
  throw new GrpcError("UNAUTHENTICATED", "request impersonation authentication failure");
}
