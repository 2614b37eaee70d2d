/** Lets a few through at a time, the others in the order they came. */
export interface Gate {
  /** False when the caller gave up waiting. After true, call `leave` once. */
  enter(signal: AbortSignal): Promise<boolean>;
  leave(): void;
}

export function createGate(capacity: number): Gate {
  let free = capacity;
  const waiting = new Set<() => void>();
  return {
    enter(signal) {
      if (signal.aborted) return Promise.resolve(false);
      if (free > 0) {
        free--;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const settle = (entered: boolean) => {
          waiting.delete(admit);
          signal.removeEventListener("abort", giveUp);
          resolve(entered);
        };
        const admit = () => settle(true);
        const giveUp = () => settle(false);
        waiting.add(admit);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
    leave() {
      const [next] = waiting;
      // Passed straight on to the next one, so that a newcomer cannot overtake it.
      if (next === undefined) free++;
      else next();
    },
  };
}
