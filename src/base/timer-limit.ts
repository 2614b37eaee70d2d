/** Node's timers fire at once when they are given more: 24 days and some. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
