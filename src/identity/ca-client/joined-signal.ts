/** A signal that follows others until it is released. */
export interface JoinedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the others and of the timer. */
  release(): void;
}

/**
 * Aborts with the first of the others, or after `timeoutMs`. Unlike `AbortSignal.any` it leaves nothing behind on signals that live as
 * long as the process.
 */
export function joinSignals(others: readonly AbortSignal[], timeoutMs?: number): JoinedSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = timeoutMs === undefined ? undefined : setTimeout(abort, timeoutMs);
  for (const other of others) {
    if (other.aborted) abort();
    else other.addEventListener("abort", abort, { once: true });
  }
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      for (const other of others) other.removeEventListener("abort", abort);
    },
  };
}
