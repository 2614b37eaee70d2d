import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";

export interface RestartBudget {
  readonly failures: number;
  /** A run of this length without a failure refills the budget. */
  readonly quietMs: number;
  /** From the first failure of a row to the agent's end, at the latest. */
  readonly giveUpAfterMs: number;
  readonly backoff: BackoffOptions;
}

export const DEFAULT_RESTART_BUDGET: RestartBudget = {
  failures: 10,
  quietMs: 20_000,
  giveUpAfterMs: 60_000,
  backoff: { initialMs: 200, maxMs: 5_000, factor: 2, jitter: 0.2 },
};

/** Failures without a quiet period between them. */
export interface FailureRow {
  readonly count: number;
  readonly firstAt: number;
}

export const NO_FAILURES: FailureRow = { count: 0, firstAt: 0 };

export interface FailureDecision {
  readonly row: FailureRow;
  /** Undefined when the budget is used up. */
  readonly delayMs: number | undefined;
}

/**
 * What to do after a failure. Besides the count there is the clock: a restart is worth it only when the new process could still
 * finish a quiet period before the deadline. So when the agent gives up, it does so within `giveUpAfterMs` of the first failure.
 */
export function nextFailure(
  row: FailureRow,
  failure: { readonly startedAt: number; readonly now: number; readonly random: number },
  budget: RestartBudget,
): FailureDecision {
  const wasQuiet = row.count === 0 || failure.now - failure.startedAt >= budget.quietMs;
  const next = wasQuiet ? { count: 1, firstAt: failure.now } : { count: row.count + 1, firstAt: row.firstAt };
  const delayMs = backoffDelayMs(budget.backoff, next.count, () => failure.random);
  const isTooLate = failure.now - next.firstAt + delayMs + budget.quietMs > budget.giveUpAfterMs;
  return { row: next, delayMs: next.count >= budget.failures || isTooLate ? undefined : delayMs };
}
