import { formatDuration } from "../../base/duration.ts";

const MILLISECOND = 1_000_000n;

/** At least a millisecond and a whole number of them; otherwise the reason. */
export function durationProblem(nanoseconds: bigint): string | undefined {
  if (nanoseconds < MILLISECOND) return "duration must be greater than 1ms";
  return millisecondsProblem(nanoseconds);
}

/** Envoy's timers do not see finer steps. */
export function millisecondsProblem(nanoseconds: bigint): string | undefined {
  return nanoseconds % MILLISECOND === 0n ? undefined : "only durations to ms precision are supported";
}

export function durationRangeProblem(nanoseconds: bigint, least: bigint, most: bigint): string | undefined {
  if (nanoseconds >= least && nanoseconds <= most) return undefined;
  return `time ${formatDuration(nanoseconds)} must be >${formatDuration(least)} and <${formatDuration(most)}`;
}
