/** What is known about a process that has to keep running. */
export interface RestartState {
  /** Ends in a row that came too early to be good runs. */
  readonly failures: number;
  readonly restarts: number;
}

export const FRESH: RestartState = { failures: 0, restarts: 0 };

/** A run of this length was a good one: the next end is the first failure again. */
const GOOD_RUN_MS = 10_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** From here on it is called a crash loop. */
const LOOP_AFTER = 4;

export interface RestartDecision {
  readonly state: RestartState;
  readonly delayMs: number;
}

/** After a process ended by itself: when it is started again. */
export function nextRestart(state: RestartState, ranMs: number): RestartDecision {
  const failures = ranMs >= GOOD_RUN_MS ? 1 : state.failures + 1;
  return {
    state: { failures, restarts: state.restarts + 1 },
    delayMs: Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)),
  };
}

export function isCrashLoop({ failures }: RestartState): boolean {
  return failures >= LOOP_AFTER;
}

/** How a process ended, for a table. 127 is the shell's word for a program that it does not find. */
export function exitText(code: number | null, signal: string | null): string {
  if (signal !== null) return `ended by ${signal}`;
  return code === 127 ? "exit code 127 (command not found)" : `exit code ${code}`;
}

/** How a process of the mesh is doing, for `mesh status`. */
export type PartStatus =
  | { readonly phase: "running"; readonly pid: number; readonly since: number; readonly restarts: number }
  | { readonly phase: "waiting" | "crash-loop"; readonly reason: string; readonly restarts: number }
  | { readonly phase: "stopped"; readonly restarts: number };
