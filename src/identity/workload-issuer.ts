import { abortAfter, type TimedAbort } from "../base/abort-after.ts";
import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import type { Secret } from "../base/secret.ts";
import { buildCsr } from "../protocol/x509/csr.ts";
import { encodePrivateKey, type KeyPair } from "../protocol/x509/key-pair.ts";
import type { CaClient } from "./ca-client/types.ts";
import type { Clock } from "./clock.ts";
import { joinChain, mergeRoots } from "./core/trust-bundle.ts";
import type { IdentityMetrics } from "./metrics.ts";
import { SecretError } from "./secret-error.ts";
import { generateWorkloadKey, type WorkloadKeyOptions } from "./workload-key.ts";

/** A workload certificate with everything that belongs to it. */
export interface WorkloadCertificate {
  /** All elements of the CA's answer, the root included: peers that know only the root can build the chain. */
  readonly chainPem: string;
  readonly keyPem: Secret;
  /** The CA's trust bundle. */
  readonly rootsPem: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly source: "ca" | "saved";
}

export interface IssuerOptions {
  readonly caClient: CaClient;
  readonly key: WorkloadKeyOptions;
  readonly pkcs8: boolean;
  /** Subject alternative names in order; a SPIFFE id in a mesh. */
  readonly hosts: readonly string[];
  readonly ttlSeconds: number;
  /** Bounds one issuance with all its attempts, also for CA clients without timeouts of their own. */
  readonly timeoutMs: number;
  /** Used by the first CSR only. */
  readonly preparedKey: Promise<KeyPair> | undefined;
  readonly clock: Clock;
  readonly metrics: IdentityMetrics;
  readonly log: Logger;
}

export type Issue = (signal: AbortSignal) => Promise<WorkloadCertificate>;

/** Each call makes a new key and a CSR for it. Rejects with a `SecretError`, code "not-issued". */
export function createIssuer(options: IssuerOptions): Issue {
  let prepared = options.preparedKey;
  return async (signal) => {
    const keys = prepared ?? generateWorkloadKey(options.key);
    prepared = undefined;
    try {
      // Generating a key cannot be aborted; the caller need not wait for its end.
      return await issue(options, await unlessAborted(keys, signal, stopped), signal);
    } catch (cause) {
      const text = `failed to generate workload certificate: ${errorMessage(cause)}`;
      throw new SecretError("not-issued", text, { cause });
    }
  };
}

async function issue(options: IssuerOptions, keys: KeyPair, signal: AbortSignal): Promise<WorkloadCertificate> {
  const { caClient, clock, metrics } = options;
  const csr = await buildCsr(keys, { hosts: options.hosts });
  const startedMs = clock.now().monotonicMs;
  metrics.outgoingRequests.inc(["csr"]);
  const limit = abortAfter(options.timeoutMs, signal);
  try {
    const signed = await orAborted(caClient.sign(csr, options.ttlSeconds, limit.signal), limit, options.timeoutMs);
    const rootsPem = mergeRoots(...signed.roots);
    if (rootsPem === "") throw new SecretError("not-issued", "the CA's answer holds no root certificate");
    const { wallMs, monotonicMs } = clock.now();
    options.log.info("generated new workload certificate", {
      resourceName: "default",
      latency: formatDurationMs(monotonicMs - startedMs),
      ttl: formatDurationMs(signed.notAfter.getTime() - wallMs),
    });
    return {
      chainPem: joinChain(signed.chain),
      keyPem: encodePrivateKey(keys.privateKey, options.pkcs8),
      rootsPem,
      createdMs: wallMs,
      expiresMs: signed.notAfter.getTime(),
      source: "ca",
    };
  } catch (cause) {
    if (!signal.aborted) {
      metrics.failedOutgoingRequests.inc(["csr"]);
      options.log.error(`resource:default failed to sign: ${errorMessage(cause)}`);
    }
    throw cause;
  } finally {
    limit.end();
    metrics.outgoingLatency.inc(["csr"], clock.now().monotonicMs - startedMs);
  }
}

function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal, why: () => Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(why());
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function stopped(): SecretError {
  return new SecretError("cancelled", "the secret manager was stopped");
}

/** A CA client that ignores its signal must not hold up the only generation. */
function orAborted<Value>(work: Promise<Value>, limit: TimedAbort, timeoutMs: number): Promise<Value> {
  const late = () => new SecretError("not-issued", `the CA gave no answer within ${timeoutMs} ms`);
  return unlessAborted(work, limit.signal, () => (limit.expired ? late() : stopped()));
}
