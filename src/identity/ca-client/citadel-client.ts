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
  requestMetadata,
} from "../../protocol/protobuf/istio-ca.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { CaError } from "./ca-error.ts";
import { callMetadata } from "./call-metadata.ts";
import { readConnectionMaterial, tlsCredentials } from "./connection-material.ts";
import { type Connection, type Connections, openConnections } from "./connections.ts";
import { type CallTarget, callFailure } from "./core/call-failure.ts";
import { checkAnswer } from "./core/check-answer.ts";
import { type CaEndpoint, caEndpoint } from "./core/endpoint.ts";
import { retryDelayMs } from "./core/retry.ts";
import type { CaClient, SignedCertificate } from "./types.ts";

const createCertificate = defineMethod({
  path: CREATE_CERTIFICATE_PATH,
  kind: "unary",
  request: istioCertificateRequest,
  response: istioCertificateResponse,
});

const DEFAULT_ATTEMPT_TIMEOUT_MS = 10_000;
const WINDOW_BYTES = 1024 * 1024;

interface Citadel {
  readonly options: CaClientOptions;
  readonly endpoint: CaEndpoint;
  readonly target: CallTarget;
  readonly connections: Connections;
  readonly closed: AbortController;
}

/** The client for istiod and everything that speaks its protocol. Connects when first used; rejects when the roots cannot be used. */
export async function startCitadelClient(options: CaClientOptions): Promise<CaClient> {
  const { log } = options;
  const endpoint = caEndpoint(options.endpoint, options.serverName);
  const rootName = options.rootFile === "" ? (options.systemRootFile ?? "system") : options.rootFile;
  const now = options.now ?? (() => new Date());
  const material = () => readConnectionMaterial(options, log, now());
  if (endpoint.plaintext) log.warn("Debug mode or IP-secure network");
  else await material();
  const connections = openConnections(endpoint.target, {
    ...(endpoint.plaintext ? {} : { tls: async () => tlsCredentials(await material(), endpoint.serverName) }),
    authority: endpoint.authority,
    connectTimeoutMs: options.attemptTimeoutMs ?? DEFAULT_ATTEMPT_TIMEOUT_MS,
    windowBytes: WINDOW_BYTES,
    maxReceiveBytes: 2 ** 31 - 1,
    ...(options.keepalive === undefined ? {} : { keepalive: options.keepalive }),
  });
  const target = { endpoint: options.endpoint, serverName: endpoint.serverName, rootName };
  const citadel: Citadel = { options, endpoint, target, connections, closed: new AbortController() };
  return {
    sign: async (csrPem, ttlSeconds, signal) => {
      const request = {
        csr: csrPem,
        validityDuration: BigInt(Math.trunc(ttlSeconds)),
        metadata: requestMetadata({ CertSigner: options.certSigner }),
      };
      try {
        const fingerprint = endpoint.plaintext ? "" : (await material()).fingerprint;
        return await signOver(citadel, request, fingerprint, AbortSignal.any([signal, citadel.closed.signal]), now);
      } catch (failure) {
        log.error("failed to sign CSR", { error: errorMessage(failure) });
        throw failure;
      }
    },
    close: async () => {
      citadel.closed.abort();
      await connections.close();
    },
  };
}

type CertificateRequest = Parameters<typeof istioCertificateRequest.encode>[0] & { readonly csr: string };

/** Attempts share a connection; after a failure the next signing makes a new one, with whatever the files hold by then. */
async function signOver(
  citadel: Citadel,
  request: CertificateRequest,
  fingerprint: string,
  signal: AbortSignal,
  now: () => Date,
): Promise<SignedCertificate> {
  const { options, connections } = citadel;
  let connection: Connection | undefined;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const limit = AbortSignal.any([
        signal,
        AbortSignal.timeout(options.attemptTimeoutMs ?? DEFAULT_ATTEMPT_TIMEOUT_MS),
      ]);
      const token = await fetchToken(citadel, signal, limit);
      connection ??= connections.acquire(`${fingerprint} ${digest(token)}`);
      const outcome = await attemptOnce(citadel, connection, { request, token, attempt, signal, limit });
      if (outcome.ok) return checkedAnswer(citadel, outcome.chain, request.csr, now());
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
    // The limit is no gRPC deadline: this protocol's clients send none, and the server's clock is not asked.
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

function checkedAnswer(citadel: Citadel, chain: readonly string[], csrPem: string, now: Date): SignedCertificate {
  try {
    return checkAnswer(chain, csrPem, now);
  } catch (cause) {
    if (!(cause instanceof CaError)) throw cause;
    throw new CaError(cause.code, `CA at ${citadel.options.endpoint}: ${cause.message}`, { cause });
  }
}

function timedOut(citadel: Citadel, cause: unknown): CaError {
  const ms = citadel.options.attemptTimeoutMs ?? DEFAULT_ATTEMPT_TIMEOUT_MS;
  return new CaError("timeout", `CA at ${citadel.options.endpoint}: no answer within ${ms} ms`, { cause });
}

function cancelled(citadel: Citadel, cause?: unknown): CaError {
  return new CaError("cancelled", `CA at ${citadel.options.endpoint}: the request was cancelled`, { cause });
}

/** Of the token, to notice that it changed; never the token itself. */
function digest(token: Secret | undefined): string {
  return token === undefined ? "" : createHash("sha256").update(token.reveal()).digest("base64");
}
