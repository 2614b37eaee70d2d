/** How late timers fire: the first sign of work that blocks the process. */
export interface EventLoopLag {
  /** The maximum starts anew. */
  take(): { readonly lastSeconds: number; readonly maxSeconds: number };
  stop(): void;
}

const INTERVAL_MS = 1000;

/** One timer a second that does not keep the process alive. */
export function startEventLoopLag(now: () => number = () => performance.now()): EventLoopLag {
  let due = now() + INTERVAL_MS;
  let last = 0;
  let max = 0;
  const timer = setInterval(() => {
    const at = now();
    last = Math.max(0, at - due) / 1000;
    max = Math.max(max, last);
    due = at + INTERVAL_MS;
  }, INTERVAL_MS);
  timer.unref();
  return {
    take() {
      // A timer that is overdue right now counts already.
      const overdue = Math.max(0, now() - due) / 1000;
      const taken = { lastSeconds: Math.max(last, overdue), maxSeconds: Math.max(max, overdue) };
      max = 0;
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}
