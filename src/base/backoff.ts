/** Exponential delays between attempts. `random` is 0..1, for the jitter. */
export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly factor: number;
  /** 0.5 spreads each delay over 50 % to 150 % of its value; 0 gives exact delays. */
  readonly jitter: number;
}

/** Delay before attempt number `attempt` + 1; `attempt` counts failures so far, from 1. */
export function backoffDelayMs(options: BackoffOptions, attempt: number, random: () => number = Math.random): number {
  const exact = Math.min(options.maxMs, options.initialMs * options.factor ** Math.max(0, attempt - 1));
  return exact * (1 + options.jitter * (2 * random() - 1));
}
