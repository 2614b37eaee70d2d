import { vi } from "vitest";

/** Waits for a condition as long as a busy machine may need, and no longer than it takes. */
export function eventually(check: () => unknown | Promise<unknown>): Promise<unknown> {
  return vi.waitFor(check, { timeout: 15_000, interval: 5 });
}
