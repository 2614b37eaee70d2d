/** Beyond this the system's clock was set; below it is the rounding of milliseconds. */
const TOLERANCE_MS = 2;

/**
 * Milliseconds since 1970 with fractions that only grow between two corrections of the system's clock, and follow each correction. The
 * monotonic clock alone would show the time of the process start plus the time since then, however wrong that start was.
 */
export function createWallClock(monotonicMs: () => number, systemMs: () => number): () => number {
  let offset = systemMs() - monotonicMs();
  return () => {
    const elapsed = monotonicMs();
    const system = systemMs();
    if (Math.abs(elapsed + offset - system) > TOLERANCE_MS) offset = system - elapsed;
    return elapsed + offset;
  };
}
