import { createHash } from "node:crypto";
import { errorMessage } from "../../base/coded-error.ts";
import { formatDurationMs } from "../../base/duration.ts";
import type { Secret } from "../../base/secret.ts";
import { wait } from "../../base/wait.ts";
import { defineMethod, GrpcError } from "../../grpc/index.ts";
import {
  CREATE_CERTIFICATE_PATH,
  istioCertificateRequest,
  istioCertificateResponse,
} from "../../protobuf/wire/istio-ca.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { CaError } from "./ca-error.ts";
import { callMetadata } from "./call-metadata.ts";
import type { Connection, Connections } from "./connections.ts";
import { type CallTarget, callFailure } from "./core/call-failure.ts";
import { checkAnswer } from "./core/check-answer.ts";
import { retryDelayMs } from "./core/retry.ts";
import { joinSignals } from "./joined-signal.ts";
import type { SignedCertificate } from "./types.ts";

const createCertificate = defineMethod({
  path: CREATE_CERTIFICATE_PATH,
  kind: "unary",
  request: istioCertificateRequest,
  response: istioCertificateResponse,
});

/** What all requests of one client share. */
export interface Citadel {
  readonly options: CaClientOptions;
  readonly target: CallTarget;
  readonly connections: Connections;
  readonly attemptTimeoutMs: number;
  readonly now: () => Date;
}

export type CertificateRequest = Parameters<typeof istioCertificateRequest.encode>[0] & { readonly csr: string };

/** Attempts share a connection; after a failure the next signing makes a new one, with whatever the files hold by then. */
export async function signOver(
  citadel: Citadel,
  request: CertificateRequest,
  fingerprint: string,
  signal: AbortSignal,
): Promise<SignedCertificate> {
  const { options, connections } = citadel;
  let connection: Connection | undefined;
  try {
    for (let attempt = 1; ; attempt += 1) {
      // The limit is no gRPC deadline: this protocol's clients send none, and the server's clock is not asked.
      const limit = joinSignals([signal], citadel.attemptTimeoutMs);
      let outcome: Outcome;
      try {
        const token = await fetchToken(citadel, signal, limit.signal);
        connection ??= connections.acquire(`${fingerprint} ${digest(token)}`);
        outcome = await attemptOnce(citadel, connection, { request, token, attempt, signal, limit: limit.signal });
      } finally {
        limit.release();
      }
      if (outcome.ok) return checkedAnswer(citadel, outcome.chain, request.csr);
      const delayMs = retryDelayMs(outcome.failure.code, attempt, options.random ?? Math.random);
      if (delayMs === undefined) throw callFailure(outcome.failure, citadel.target);
      options.retries.inc(["csr"]);
      const delay = formatDurationMs(Math.round(delayMs));
      options.log.scope("ca").warn(`ca request failed, starting attempt ${attempt} in ${delay}`, {
        error: outcome.failure.message,
      });
      await wait(delayMs, signal);
      if (signal.aborted) throw cancelled(citadel);
    }
  } catch (failure) {
    connection?.retire();
    throw failure;
  } finally {
    connection?.release();
  }
}

type Outcome =
  | { readonly ok: true; readonly chain: readonly string[] }
  | { readonly ok: false; readonly failure: GrpcError };

interface Attempt {
  readonly request: CertificateRequest;
  readonly token: Secret | undefined;
  readonly attempt: number;
  /** The caller's wish to stop. */
  readonly signal: AbortSignal;
  /** That, or the attempt's time is over. */
  readonly limit: AbortSignal;
}

async function attemptOnce(citadel: Citadel, connection: Connection, attempt: Attempt): Promise<Outcome> {
  const { options } = citadel;
  const metadata = callMetadata({ ...options, token: attempt.token, attempt: attempt.attempt });
  try {
    const answer = await connection.channel.unary(createCertificate, attempt.request, {
      metadata,
      signal: attempt.limit,
    });
    return { ok: true, chain: answer.certChain ?? [] };
  } catch (failure) {
    if (attempt.signal.aborted) throw cancelled(citadel, failure);
    if (attempt.limit.aborted) throw timedOut(citadel, failure);
    if (failure instanceof GrpcError) return { ok: false, failure };
    throw new CaError("bad-answer", `CA at ${options.endpoint}: ${errorMessage(failure)}`, { cause: failure });
  }
}

async function fetchToken(citadel: Citadel, signal: AbortSignal, limit: AbortSignal): Promise<Secret | undefined> {
  try {
    return await citadel.options.tokens?.fetch(limit);
  } catch (cause) {
    if (signal.aborted) throw cancelled(citadel, cause);
    const text = `CA at ${citadel.options.endpoint}: no token to authenticate with: ${errorMessage(cause)}`;
    throw new CaError("unauthenticated", text, { cause });
  }
}

function checkedAnswer(citadel: Citadel, chain: readonly string[], csrPem: string): SignedCertificate {
  try {
    return checkAnswer(chain, csrPem, citadel.now());
  } catch (cause) {
    if (!(cause instanceof CaError)) throw cause;
    throw new CaError(cause.code, `CA at ${citadel.options.endpoint}: ${cause.message}`, { cause });
  }
}

function timedOut(citadel: Citadel, cause: unknown): CaError {
  const text = `CA at ${citadel.options.endpoint}: no answer within ${citadel.attemptTimeoutMs} ms`;
  return new CaError("timeout", text, { cause });
}

function cancelled(citadel: Citadel, cause?: unknown): CaError {
  return new CaError("cancelled", `CA at ${citadel.options.endpoint}: the request was cancelled`, { cause });
}

/** Of the token, to notice that it changed; never the token itself. */
function digest(token: Secret | undefined): string {
  return token === undefined ? "" : createHash("sha256").update(token.reveal()).digest("base64");
}
