/** What happens to a filter whose module cannot be had. */
export interface FallbackRules {
  /** A filter that must not fail open: replaced by one that denies everything, or the whole response is refused. */
  readonly failClosed: "deny" | "refuse";
  /** Whether the HTTP filter that stands in says so in its statistics. */
  readonly named: boolean;
}

export const CURRENT_RULES: FallbackRules = { failClosed: "deny", named: true };

/** Generation 1.20 and before: one module that fails closed holds back all the others. */
export const LEGACY_RULES: FallbackRules = { failClosed: "refuse", named: false };
