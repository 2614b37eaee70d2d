export interface PingPolicy {
  /** Pings of a client that come faster than this are counted as strikes. */
  readonly minIntervalMs: number;
  /** Whether a client may ping while it has no call open. */
  readonly withoutCalls: boolean;
}

export interface PingState {
  readonly lastAt: number;
  readonly strikes: number;
}

/** Without a call open, a client may still ping this often: it may want to know whether the server lives. */
const IDLE_INTERVAL_MS = 2 * 60 * 60 * 1000;
const MAX_STRIKES = 2;

export const noPings: PingState = { lastAt: Number.NEGATIVE_INFINITY, strikes: 0 };

export interface PingEvent {
  readonly now: number;
  readonly openCalls: number;
  /** We have sent headers or messages since the last ping: clients measure the connection with pings then, which is not abuse. */
  readonly hasSent: boolean;
}

export function nextPingState(policy: PingPolicy, state: PingState, { now, openCalls, hasSent }: PingEvent): PingState {
  if (hasSent) return { lastAt: now, strikes: 0 };
  const allowedMs = openCalls === 0 && !policy.withoutCalls ? IDLE_INTERVAL_MS : policy.minIntervalMs;
  const strikes = now - state.lastAt < allowedMs ? state.strikes + 1 : state.strikes;
  return { lastAt: now, strikes };
}

export function isTooManyPings(state: PingState): boolean {
  return state.strikes > MAX_STRIKES;
}
