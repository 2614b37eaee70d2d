/** How often a client may do what costs the server more than the client. */
export interface FloodLimit {
  readonly perSecond: number;
  /** At once, after a while without any. */
  readonly burst: number;
}

/** A bucket that fills at a steady rate; each frame takes a token. */
export interface FloodState {
  readonly tokens: number;
  readonly at: number;
}

/** PING and SETTINGS of a client that was sent nothing meanwhile; each has to be acknowledged. */
export const CONTROL_FRAMES: FloodLimit = { perSecond: 100, burst: 500 };
/** Streams that are reset when they are younger than this; older ones may end together, as when a gateway drops its listeners. */
export const EARLY_RESET_MS = 1000;
export const EARLY_RESETS: FloodLimit = { perSecond: 100, burst: 500 };

export const noFlood = ({ burst }: FloodLimit, now: number): FloodState => ({ tokens: burst, at: now });

export function nextFloodState({ perSecond, burst }: FloodLimit, state: FloodState, now: number): FloodState {
  const refilled = state.tokens + ((now - state.at) * perSecond) / 1000;
  return { tokens: Math.min(burst, refilled) - 1, at: now };
}

export function isFlood(state: FloodState): boolean {
  return state.tokens < 0;
}
