import { createHash } from "node:crypto";
import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { formatDurationMs } from "../../base/duration.ts";
import type { Secret } from "../../base/secret.ts";
import { wait } from "../../base/wait.ts";
import { type GrpcChannel, GrpcError, Metadata, MetadataError } from "../../grpc/index.ts";
import type { GrpcStatusName } from "../../protocol/grpc-status-names.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { CaError } from "./ca-error.ts";
import type { Connection, Connections } from "./connections.ts";
import { type CallTarget, callFailure } from "./core/call-failure.ts";
import { checkAnswer } from "./core/check-answer.ts";
import { joinSignals } from "./joined-signal.ts";
import type { SignedCertificate } from "./types.ts";

export const MAX_ATTEMPTS = 5;
/** 100, 200, 400 and 800 ms, each give or take a tenth. */
const BACKOFF: BackoffOptions = { initialMs: 100, maxMs: 800, factor: 2, jitter: 0.1 };
/** Passing troubles of the CA or of the way to it. A deadline is not among them: it has cost enough time already. */
const RETRIED: ReadonlySet<GrpcStatusName> = new Set(["RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL", "UNAVAILABLE"]);

/** The calls of one kind of CA. */
export interface CaProtocol {
  /** Sent with every call, beside the token and the headers of the environment. */
  readonly metadata: Readonly<Record<string, string>>;
  /** PEM elements: the leaf first, the trust bundle last. Rejects with the `GrpcError` of the call that failed. */
  createCertificate(
    channel: GrpcChannel,
    request: CertificateRequest,
    call: { readonly metadata: Metadata; readonly signal: AbortSignal },
  ): Promise<readonly string[]>;
}

export interface CertificateRequest {
  readonly csrPem: string;
  readonly ttlSeconds: number;
}

/** What all requests of one client share. */
export interface CaSession {
  readonly protocol: CaProtocol;
  readonly options: CaClientOptions;
  readonly target: CallTarget;
  readonly connections: Connections;
  readonly attemptTimeoutMs: number;
  readonly now: () => Date;
}

/** Attempts share a connection; after a failure the next signing opens a new one with the current content of the files. */
export async function signOver(
  session: CaSession,
  request: CertificateRequest,
  fingerprint: string,
  signal: AbortSignal,
): Promise<SignedCertificate> {
  const { options, connections } = session;
  let connection: Connection | undefined;
  try {
    for (let attempt = 1; ; attempt += 1) {
      // The limit is not a gRPC deadline: this protocol's clients send none, and the server's clock is not asked.
      const limit = joinSignals([signal], session.attemptTimeoutMs);
      let outcome: Outcome;
      try {
        const token = await fetchToken(session, signal, limit.signal);
        connection ??= connections.acquire(`${fingerprint} ${digest(token)}`);
        outcome = await attemptOnce(session, connection, { request, token, attempt, signal, limit: limit.signal });
      } finally {
        limit.release();
      }
      if (outcome.ok) return checkedAnswer(session, outcome.chain, request.csrPem);
      const delayMs = retryDelayMs(outcome.failure.code, attempt, options.random ?? Math.random);
      if (delayMs === undefined) throw callFailure(outcome.failure, session.target);
      options.retries.inc(["csr"]);
      const delay = formatDurationMs(Math.round(delayMs));
      options.log.scope("ca").warn(`ca request failed, starting attempt ${attempt} in ${delay}`, {
        error: outcome.failure.message,
      });
      await wait(delayMs, signal);
      if (signal.aborted) throw cancelled(session);
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
  /** Aborted by the caller. */
  readonly signal: AbortSignal;
  /** That, or the attempt's timeout. */
  readonly limit: AbortSignal;
}

async function attemptOnce(session: CaSession, connection: Connection, attempt: Attempt): Promise<Outcome> {
  const { options, protocol } = session;
  const headers = { ...protocol.metadata, ...options.headers };
  const metadata = callMetadata({ headers, token: attempt.token, attempt: attempt.attempt });
  try {
    const call = { metadata, signal: attempt.limit };
    return { ok: true, chain: await protocol.createCertificate(connection.channel, attempt.request, call) };
  } catch (failure) {
    if (attempt.signal.aborted) throw cancelled(session, failure);
    if (attempt.limit.aborted) throw timedOut(session, failure);
    if (failure instanceof GrpcError) return { ok: false, failure };
    if (failure instanceof CaError) throw failure;
    throw new CaError("bad-answer", `CA at ${options.endpoint}: ${errorMessage(failure)}`, { cause: failure });
  }
}

async function fetchToken(session: CaSession, signal: AbortSignal, limit: AbortSignal): Promise<Secret | undefined> {
  try {
    return await session.options.tokens?.fetch(limit);
  } catch (cause) {
    if (signal.aborted) throw cancelled(session, cause);
    const text = `CA at ${session.options.endpoint}: no token to authenticate with: ${errorMessage(cause)}`;
    throw new CaError("unauthenticated", text, { cause });
  }
}

function checkedAnswer(session: CaSession, chain: readonly string[], csrPem: string): SignedCertificate {
  try {
    return checkAnswer(chain, csrPem, session.now());
  } catch (cause) {
    if (!(cause instanceof CaError)) throw cause;
    throw new CaError(cause.code, `CA at ${session.options.endpoint}: ${cause.message}`, { cause });
  }
}

function timedOut(session: CaSession, cause: unknown): CaError {
  const text = `CA at ${session.options.endpoint}: no answer within ${session.attemptTimeoutMs} ms`;
  return new CaError("timeout", text, { cause });
}

function cancelled(session: CaSession, cause?: unknown): CaError {
  return new CaError("cancelled", `CA at ${session.options.endpoint}: the request was cancelled`, { cause });
}

/** Of the token, to notice that it changed; never the token itself. */
function digest(token: Secret | undefined): string {
  return token === undefined ? "" : createHash("sha256").update(token.reveal()).digest("base64");
}

/** Milliseconds before the next attempt after `failures` failed ones; undefined when this was the last. */
export function retryDelayMs(code: GrpcStatusName, failures: number, random: () => number): number | undefined {
  if (!RETRIED.has(code) || failures >= MAX_ATTEMPTS) return undefined;
  return backoffDelayMs(BACKOFF, failures, random);
}

interface CallMetadataParts {
  readonly headers: Readonly<Record<string, string>>;
  readonly token: Secret | undefined;
  /** From 1. */
  readonly attempt: number;
}

/** The metadata of one attempt. Names are sent in lower case, underscores unchanged. */
export function callMetadata(parts: CallMetadataParts): Metadata {
  try {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(parts.headers)) metadata.set(name, value);
    if (parts.token !== undefined) metadata.set("authorization", `Bearer ${parts.token.reveal()}`);
    if (parts.attempt > 1) metadata.set("x-retry-attempt", String(parts.attempt - 1));
    return metadata;
  } catch (cause) {
    if (!(cause instanceof MetadataError)) throw cause;
    throw new CaError("bad-config", `cannot call the CA: ${cause.message}`, { cause });
  }
}
