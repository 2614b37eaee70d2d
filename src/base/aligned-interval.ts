/**
 * As `setInterval`, but at multiples of the period on the clock of the process: timers of parts that know nothing of each other fire
 * together, and an idle process wakes up once for all of them. Does not keep the process alive.
 */
export function startAlignedInterval(work: () => void, periodMs: number): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    timer = setTimeout(
      () => {
        arm();
        work();
      },
      msToNextTick(periodMs, performance.now()),
    );
    timer.unref();
  };
  arm();
  return { stop: () => clearTimeout(timer) };
}

/** To the next multiple of the period that is at least half a period away: a timer that fires early, or was just armed, is not hurried. */
export function msToNextTick(periodMs: number, now: number): number {
  const rest = periodMs - (now % periodMs);
  return Math.ceil(rest < periodMs / 2 ? rest + periodMs : rest);
}
