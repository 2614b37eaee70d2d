/** A bucket that fills at a steady rate; each new stream takes one token, later ones in advance. */
export interface StreamRate {
  readonly tokens: number;
  readonly at: number;
}

export interface StreamRateLimits {
  readonly perSecond: number;
  readonly burst: number;
  /** A stream that would have to wait longer is refused. */
  readonly maxWaitMs: number;
}

export const fullRate = ({ burst }: StreamRateLimits, now: number): StreamRate => ({ tokens: burst, at: now });

/** How long the next stream has to wait; undefined when that is too long, and then it takes nothing. */
export function takeStream(
  rate: StreamRate,
  limits: StreamRateLimits,
  now: number,
): { readonly rate: StreamRate; readonly waitMs: number | undefined } {
  const tokens = Math.min(limits.burst, rate.tokens + ((now - rate.at) * limits.perSecond) / 1000);
  const waitMs = tokens >= 1 ? 0 : ((1 - tokens) * 1000) / limits.perSecond;
  if (waitMs > limits.maxWaitMs) return { rate: { tokens, at: now }, waitMs: undefined };
  return { rate: { tokens: tokens - 1, at: now }, waitMs };
}
