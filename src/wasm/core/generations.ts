/** What happens to a filter whose module cannot be had. */
export interface FallbackRules {
  /** A filter that must not fail open: replaced by one that denies everything, or the whole response is refused. */
  readonly failClosed: "deny" | "refuse";
  /** Whether the HTTP filter that stands in says so in its statistics. */
  readonly named: boolean;
}

export const FALLBACK_RULES = {
  master: { failClosed: "deny", named: true },
  /** And before: one module that fails closed holds back all the others. */
  "1.20": { failClosed: "refuse", named: false },
} as const satisfies Record<string, FallbackRules>;
