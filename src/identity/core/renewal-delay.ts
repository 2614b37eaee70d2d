export interface Lifetime {
  /** Wall clock when the certificate arrived, not its notBefore: a CA may backdate. */
  readonly createdMs: number;
  readonly expiresMs: number;
}

export interface RenewalPolicy {
  /** Share of the lifetime that is left when the certificate is renewed: 0.5 renews at half life, 0 at expiry. */
  readonly ratio: number;
  /** Largest random deviation of the ratio, so that a fleet started together does not renew together. */
  readonly jitter: number;
}

/** For settings that are not a number at all, which would mean a renewal at no time. */
const HALF = 0.5;

/** Milliseconds from `nowMs` until the certificate is to be renewed; 0 when that moment has passed. */
export function renewalDelay(lifetime: Lifetime, policy: RenewalPolicy, nowMs: number, random: () => number): number {
  const sign = random() < 0.5 ? -1 : 1;
  const asked = policy.ratio + sign * random() * policy.jitter;
  const ratio = Number.isNaN(asked) ? HALF : Math.min(1, Math.max(0, asked));
  const renewAtMs = lifetime.expiresMs - ratio * (lifetime.expiresMs - lifetime.createdMs);
  return Math.max(0, renewAtMs - nowMs);
}
