/** Lets a number of users in at once; the others wait in the order in which they came. */
export interface Gate {
  /** True when there is room, at once. */
  tryEnter(): boolean;
  /** Resolves when there is room, false when the signal was aborted before. Who got true leaves once. */
  enter(signal: AbortSignal): Promise<boolean>;
  leave(): void;
}

export function createGate(max: number): Gate {
  let inside = 0;
  const waiting = new Set<() => void>();
  const tryEnter = () => {
    if (inside >= max) return false;
    inside += 1;
    return true;
  };
  return {
    tryEnter,
    enter: (signal) => {
      if (signal.aborted) return Promise.resolve(false);
      if (tryEnter()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const settle = (isIn: boolean) => {
          waiting.delete(admit);
          signal.removeEventListener("abort", giveUp);
          resolve(isIn);
        };
        const admit = () => settle(true);
        const giveUp = () => settle(false);
        waiting.add(admit);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
    leave: () => {
      const [next] = waiting;
      // The room passes on: later arrivals cannot take it.
      if (next !== undefined) next();
      else inside -= 1;
    },
  };
}
