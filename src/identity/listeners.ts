import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";

/** Who wants to know about which secret. */
export interface Listeners {
  /** Returns whether this is the first listener of the name. */
  add(name: string, listener: () => void): boolean;
  /** Returns whether the name has no listener left. */
  remove(name: string, listener: () => void): boolean;
  notify(name: string): void;
  names(): readonly string[];
}

export function createListeners(log: Logger): Listeners {
  const byName = new Map<string, Set<() => void>>();
  return {
    add: (name, listener) => {
      const known = byName.get(name);
      if (known === undefined) byName.set(name, new Set([listener]));
      else known.add(listener);
      return known === undefined;
    },
    remove: (name, listener) => {
      const known = byName.get(name);
      if (known === undefined || !known.delete(listener) || known.size > 0) return false;
      return byName.delete(name);
    },
    notify: (name) => {
      // A copy: a listener may unsubscribe while it is notified.
      for (const listener of [...(byName.get(name) ?? [])]) {
        try {
          listener();
        } catch (thrown) {
          log.error("a listener for a changed secret failed", { name, error: errorMessage(thrown) });
        }
      }
    },
    names: () => [...byName.keys()],
  };
}
