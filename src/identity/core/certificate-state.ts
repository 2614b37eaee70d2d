import type { BackoffOptions } from "../../base/backoff.ts";
import { backoffDelayMs } from "../../base/backoff.ts";

/** Readings of both clocks at one moment. Wall time decides validity, monotonic time cannot be set by anybody. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** When to act. Whichever clock gets there first counts, so that a clock set back by a day does not postpone a renewal by a day. */
export interface Due {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export interface Failure {
  readonly error: Error;
  /** Failed attempts in a row. */
  readonly count: number;
  readonly at: Moment;
}

/** The workload certificate of the manager. `Certificate` is opaque here but for its end. */
export type CertificateState<Certificate extends { readonly expiresMs: number }> =
  /** Nothing was issued yet. */
  | { readonly phase: "absent"; readonly failure: Failure | undefined; readonly retry: Due }
  /** Issued, and the next renewal is planned. */
  | { readonly phase: "current"; readonly certificate: Certificate; readonly renew: Due }
  /** Renewal is due but failed; the certificate is served as long as it is valid. */
  | { readonly phase: "overdue"; readonly certificate: Certificate; readonly failure: Failure; readonly retry: Due };

export function initialState<Certificate extends { readonly expiresMs: number }>(
  now: Moment,
): CertificateState<Certificate> {
  return { phase: "absent", failure: undefined, retry: now };
}

export function afterSuccess<Certificate extends { readonly expiresMs: number }>(
  certificate: Certificate,
  delayMs: number,
  now: Moment,
): CertificateState<Certificate> {
  return { phase: "current", certificate, renew: dueIn(delayMs, now) };
}

/** The certificate, if there is one, stays; the retry delay grows with the failures in a row. */
export function afterFailure<Certificate extends { readonly expiresMs: number }>(
  state: CertificateState<Certificate>,
  error: Error,
  options: { readonly backoff: BackoffOptions; readonly now: Moment; readonly random: () => number },
): CertificateState<Certificate> {
  const { backoff, now, random } = options;
  const count = state.phase === "current" ? 1 : (state.failure?.count ?? 0) + 1;
  const failure = { error, count, at: now };
  const retry = dueIn(backoffDelayMs(backoff, count, random), now);
  if (state.phase === "absent") return { phase: "absent", failure, retry };
  return { phase: "overdue", certificate: state.certificate, failure, retry };
}

/** What may be handed out at this wall time. An expired certificate is not dropped: a clock set forwards may be set back. */
export function usableCertificate<Certificate extends { readonly expiresMs: number }>(
  state: CertificateState<Certificate>,
  wallMs: number,
): Certificate | undefined {
  if (state.phase === "absent" || state.certificate.expiresMs <= wallMs) return undefined;
  return state.certificate;
}

/** Milliseconds until the next attempt; 0 when it is due by either clock. A renewal is never planned later than the expiry. */
export function untilNextAttempt<Certificate extends { readonly expiresMs: number }>(
  state: CertificateState<Certificate>,
  now: Moment,
): number {
  const due = state.phase === "current" ? state.renew : state.retry;
  return Math.max(0, Math.min(due.wallMs - now.wallMs, due.monotonicMs - now.monotonicMs));
}

/** How long a waiting subscriber has to hold back: it may hurry the next attempt, but not hammer a CA that just failed. */
export function untilHurriedAttempt<Certificate extends { readonly expiresMs: number }>(
  state: CertificateState<Certificate>,
  gapMs: number,
  now: Moment,
): number {
  if (state.phase === "current" || state.failure === undefined) return 0;
  return Math.max(0, Math.min(gapMs - (now.monotonicMs - state.failure.at.monotonicMs), untilNextAttempt(state, now)));
}

function dueIn(delayMs: number, now: Moment): Due {
  return { wallMs: now.wallMs + delayMs, monotonicMs: now.monotonicMs + delayMs };
}
