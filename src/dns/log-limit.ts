/** Lets one line per subject and interval through: what fails for every query must not fill the log at the rate of queries. */
export function createLogLimit(
  intervalMs: number,
  now: () => number = () => performance.now(),
): (subject: string) => boolean {
  const loggedAt = new Map<string, number>();
  return (subject) => {
    const time = now();
    if (time - (loggedAt.get(subject) ?? Number.NEGATIVE_INFINITY) < intervalMs) return false;
    loggedAt.set(subject, time);
    return true;
  };
}
