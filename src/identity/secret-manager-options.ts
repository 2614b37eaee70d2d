import type { BackoffOptions } from "../base/backoff.ts";
import type { Logger } from "../base/logger.ts";
import type { KeyPair } from "../protocol/x509/key-pair.ts";
import type { CaClient } from "./ca-client/types.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { RenewalPolicy } from "./core/renewal-delay.ts";
import type { ExistingCertificatePaths } from "./existing-certificates.ts";
import type { IdentityMetrics } from "./metrics.ts";
import type { WorkloadKeyOptions } from "./workload-key.ts";

export interface SecretManagerOptions {
  /** Undefined: files only (mounted certificates, or an external workload SDS). Stays the property of the caller. */
  readonly caClient: CaClient | undefined;
  readonly key: WorkloadKeyOptions;
  /** PKCS#8 key PEM instead of the key's traditional form. */
  readonly pkcs8: boolean;
  /** Subject alternative names of the workload certificate; one SPIFFE id in a mesh. */
  readonly hosts: readonly string[];
  readonly ttlSeconds: number;
  readonly renewal: RenewalPolicy;
  /** Generates the first key before the first CSR needs it. A promise is a key that is already on its way. Default true. */
  readonly prepareKey?: boolean | Promise<KeyPair>;
  readonly existing?: ExistingCertificatePaths | undefined;
  readonly output?: OutputCertificates | undefined;
  /** Debounce of file events and first retry interval of files that are not valid; 10 ms to 10 s are used. */
  readonly fileDebounceMs: number;
  /** How long a request waits for files to become valid. */
  readonly fileWaitMs?: number;
  /** Announced with every trust bundle while the file exists. */
  readonly crlPath?: string | undefined;
  readonly systemRootPaths?: readonly string[];
  readonly metrics: IdentityMetrics;
  readonly log: Logger;
  readonly tuning?: Partial<SecretManagerTuning>;
}

export interface OutputCertificates {
  readonly directory: string;
  readonly readableByAll: boolean;
  /** Serves a valid certificate found in the directory until the CA has answered. */
  readonly reuse?: boolean;
}

/** Values that only tests and benchmarks have a reason to change. */
export interface SecretManagerTuning {
  readonly clock: Clock;
  readonly random: () => number;
  readonly backoff: BackoffOptions;
  readonly recheckMs: number;
  readonly minGapMs: number;
  readonly issueTimeoutMs: number;
}

export const DEFAULT_FILE_WAIT_MS = 10_000;

/** Nothing or less would read invalid files without a pause; days would hide every change, and beyond 2^31 ms timers do not wait. */
export function usableDebounceMs(configuredMs: number): number {
  return Math.min(10_000, Math.max(10, configuredMs));
}

export const DEFAULT_TUNING: SecretManagerTuning = {
  clock: systemClock,
  random: Math.random,
  backoff: { initialMs: 500, maxMs: 60_000, factor: 1.5, jitter: 0.5 },
  recheckMs: 30_000,
  minGapMs: 500,
  // Five attempts of ten seconds each, with room for the waits between them.
  issueTimeoutMs: 60_000,
};
