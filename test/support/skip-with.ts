import type { TestContext } from "vitest";

/** Skips the running test; the reason also goes where `npm test` lists all reasons together at the end. */
export function skipWith(context: TestContext, reason: string): never {
  Object.assign(context.task.meta, { skipReason: reason });
  return context.skip(reason);
}
