import type { BackoffOptions } from "../base/backoff.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { Clock } from "./clock.ts";
import {
  afterFailure,
  afterSuccess,
  type CertificateState,
  initialState,
  untilHurriedAttempt,
  untilNextAttempt,
  usableCertificate,
} from "./core/certificate-state.ts";
import { addFailure, type PastFailure } from "./core/past-failures.ts";
import { type RenewalPolicy, renewalDelay } from "./core/renewal-delay.ts";
import { SecretError } from "./secret-error.ts";
import type { Issue, WorkloadCertificate } from "./workload-issuer.ts";

export interface RotationOptions {
  readonly issue: Issue;
  readonly renewal: RenewalPolicy;
  readonly backoff: BackoffOptions;
  /** Longest time between two looks at the clocks; also keeps every timer far below the 2^31 ms that Node can wait. */
  readonly recheckMs: number;
  /** Shortest time between two issuances, for renewal ratios near 1 and certificates that arrive almost expired. */
  readonly minGapMs: number;
  /** A certificate to serve from the start; its renewal is due at once. */
  readonly saved: WorkloadCertificate | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  onIssued(certificate: WorkloadCertificate, previous: WorkloadCertificate | undefined): void;
}

/** The workload certificate over time: one issuance at a time, renewed by its own timer whether or not anybody asks. */
export interface Rotation {
  /** Begins to issue and renew; idempotent. Until then nothing is asked of the CA. */
  begin(): void;
  /** The certificate if it is valid now. */
  current(): WorkloadCertificate | undefined;
  /** The certificate even if it has expired. */
  latest(): WorkloadCertificate | undefined;
  /** When the next issuance is planned, in wall time. */
  nextAttemptMs(): number | undefined;
  lastFailure(): Error | undefined;
  /** How the last attempts failed, newest first, also those that a later one has made good. */
  failures(): readonly PastFailure[];
  /** Waits for the attempt in progress, or hurries the next one; rejects with that attempt's error. */
  request(signal?: AbortSignal): Promise<WorkloadCertificate>;
  stop(): Promise<void>;
}

interface Waiter {
  resolve(certificate: WorkloadCertificate): void;
  reject(error: Error): void;
}

export function createRotation(options: RotationOptions): Rotation {
  const { clock } = options;
  const stopped = new AbortController();
  const waiters = new Set<Waiter>();
  let state: CertificateState<WorkloadCertificate> =
    options.saved === undefined ? initialState(clock.now()) : afterSuccess(options.saved, 0, clock.now());
  let failures: readonly PastFailure[] = [];
  let begun = false;
  let timer: NodeJS.Timeout | undefined;
  let attempt: Promise<void> | undefined;

  function plan(withinMs = Number.POSITIVE_INFINITY): void {
    clearTimeout(timer);
    if (!begun || stopped.signal.aborted || attempt !== undefined) return;
    const left = Math.min(withinMs, untilNextAttempt(state, clock.now()));
    if (left <= 0) attempt = run().finally(finished);
    else timer = setTimeout(() => plan(withinMs - options.recheckMs), Math.min(left, options.recheckMs));
  }

  async function run(): Promise<void> {
    try {
      const certificate = await options.issue(stopped.signal);
      succeed(certificate);
    } catch (thrown) {
      fail(thrown instanceof Error ? thrown : new Error(errorMessage(thrown)));
    }
  }

  function finished(): void {
    attempt = undefined;
    plan();
  }

  function succeed(certificate: WorkloadCertificate): void {
    if (stopped.signal.aborted) return;
    const now = clock.now();
    const previous = state.phase === "absent" ? undefined : state.certificate;
    const delayMs = renewalDelay(certificate, options.renewal, now.wallMs, options.random);
    state = afterSuccess(certificate, Math.max(delayMs, options.minGapMs), now);
    options.onIssued(certificate, previous);
    settle((waiter) => waiter.resolve(certificate));
  }

  function fail(error: Error): void {
    if (stopped.signal.aborted) return;
    const { backoff, random } = options;
    const now = clock.now();
    failures = addFailure(failures, error.message, { atMs: now.wallMs, isAgain: state.phase !== "current" });
    state = afterFailure(state, error, { backoff, random, now });
    const usable = usableCertificate(state, clock.now().wallMs);
    const meaning = usable === undefined ? "failed to warm certificate" : "failed to renew, the certificate stays";
    options.log.warn(`${meaning}: ${error.message}`, usable && { expires: new Date(usable.expiresMs).toISOString() });
    settle((waiter) => waiter.reject(error));
  }

  function settle(how: (waiter: Waiter) => void): void {
    const settled = [...waiters];
    waiters.clear();
    for (const waiter of settled) how(waiter);
  }

  return {
    begin: () => {
      if (begun) return;
      begun = true;
      plan();
    },
    current: () => usableCertificate(state, clock.now().wallMs),
    latest: () => (state.phase === "absent" ? undefined : state.certificate),
    nextAttemptMs: () => (begun ? clock.now().wallMs + untilNextAttempt(state, clock.now()) : undefined),
    lastFailure: () => (state.phase === "current" ? undefined : state.failure?.error),
    failures: () => failures,
    request: (signal) => {
      const usable = usableCertificate(state, clock.now().wallMs);
      if (usable !== undefined) return Promise.resolve(usable);
      if (stopped.signal.aborted || signal?.aborted === true) return Promise.reject(cancelled());
      const answer = waitFor(waiters, signal);
      begun = true;
      // Anything but the first failure's gap would make a proxy that reconnects wait for a backoff that outlived its cause.
      plan(untilHurriedAttempt(state, options.backoff.initialMs, clock.now()));
      return answer;
    },
    stop: async () => {
      clearTimeout(timer);
      stopped.abort();
      settle((waiter) => waiter.reject(cancelled()));
      await attempt;
    },
  };
}

function waitFor(waiters: Set<Waiter>, signal: AbortSignal | undefined): Promise<WorkloadCertificate> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      waiters.delete(waiter);
      reject(cancelled());
    };
    const forget = () => signal?.removeEventListener("abort", onAbort);
    const waiter: Waiter = {
      resolve: (certificate) => {
        forget();
        resolve(certificate);
      },
      reject: (error) => {
        forget();
        reject(error);
      },
    };
    waiters.add(waiter);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function cancelled(): SecretError {
  return new SecretError("cancelled", "the request for the secret was cancelled");
}
