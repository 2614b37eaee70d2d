import { MAX_TIMER_MS } from "./timer-limit.ts";

/** A signal with a time limit; `end` takes its timer and its listener away. */
export interface TimedAbort extends Disposable {
  readonly signal: AbortSignal;
  /** True when the limit was reached, false when the parent aborted or nothing has happened. */
  readonly expired: boolean;
  end(): void;
}

/**
 * Aborts together with the parent, or after `ms`. Use it instead of `AbortSignal.any([parent, AbortSignal.timeout(ms)])`: on Node 20 the
 * garbage collector takes the inner timeout signal, and the limit then never comes.
 */
export function abortAfter(ms: number, parent?: AbortSignal): TimedAbort {
  const controller = new AbortController();
  let expired = false;
  const follow = () => controller.abort(parent?.reason);
  const end = () => {
    clearTimeout(timer);
    parent?.removeEventListener("abort", follow);
  };
  const timer = setTimeout(
    () => {
      expired = true;
      end();
      controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    },
    Math.min(ms, MAX_TIMER_MS),
  );
  parent?.addEventListener("abort", follow, { once: true });
  if (parent?.aborted) {
    end();
    follow();
  }
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    end,
    [Symbol.dispose]: end,
  };
}
