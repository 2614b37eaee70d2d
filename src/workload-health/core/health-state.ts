/** Outcome of one look at the workload. */
export type ProbeResult =
  | { readonly healthy: true }
  /** `isStarting`: Envoy has not been up yet, which says nothing about the workload. */
  | { readonly healthy: false; readonly message: string; readonly isStarting?: boolean };

export interface HealthState {
  readonly reported: "nothing" | "healthy" | "unhealthy";
  readonly successes: number;
  readonly failures: number;
}

export interface Thresholds {
  readonly success: number;
  readonly failure: number;
}

/** What is reported to the control plane. */
export type HealthEvent = { readonly healthy: true } | { readonly healthy: false; readonly message: string };

export const INITIAL_HEALTH: HealthState = { reported: "nothing", successes: 0, failures: 0 };

/** Counts in a row; the first verdict is always reported, afterwards only changes. */
export function nextHealth(
  state: HealthState,
  result: ProbeResult,
  thresholds: Thresholds,
): { readonly state: HealthState; readonly event?: HealthEvent } {
  if (result.healthy) {
    const successes = state.successes + 1;
    if (successes < thresholds.success || state.reported === "healthy")
      return { state: { ...state, successes, failures: 0 } };
    return { state: { reported: "healthy", successes: 0, failures: 0 }, event: { healthy: true } };
  }
  // A machine that boots would otherwise begin its life with a complaint about a proxy that is still starting.
  if (result.isStarting && state.reported === "nothing") return { state };
  const failures = state.failures + 1;
  if (failures < thresholds.failure || state.reported === "unhealthy")
    return { state: { ...state, failures, successes: 0 } };
  return {
    state: { reported: "unhealthy", successes: 0, failures: 0 },
    event: { healthy: false, message: result.message },
  };
}
