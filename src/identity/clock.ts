import type { Moment } from "./core/certificate-state.ts";

/** Both clocks, read together. Tests jump the wall clock. */
export interface Clock {
  now(): Moment;
}

export const systemClock: Clock = {
  now: () => ({ wallMs: Date.now(), monotonicMs: performance.now() }),
};
