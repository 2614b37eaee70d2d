/** Attempts that failed in a row for one reason. */
export interface PastFailure {
  readonly message: string;
  /** Of the last of them, in wall time. */
  readonly atMs: number;
  readonly sinceMs: number;
  readonly count: number;
}

const MAX_FAILURES = 10;

export interface FailureContext {
  readonly atMs: number;
  /** The attempt before failed too. */
  readonly isAgain: boolean;
}

/**
 * Newest first. A CA that is down for hours fails every attempt with the same words: that is one entry with a count, so that it does not push
 * out what happened before.
 */
export function addFailure(
  failures: readonly PastFailure[],
  message: string,
  { atMs, isAgain }: FailureContext,
): readonly PastFailure[] {
  const [last, ...before] = failures;
  if (isAgain && last?.message === message) return [{ ...last, atMs, count: last.count + 1 }, ...before];
  return [{ message, atMs, sinceMs: atMs, count: 1 }, ...failures].slice(0, MAX_FAILURES);
}
