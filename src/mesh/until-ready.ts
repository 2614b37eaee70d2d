import { wait } from "../base/wait.ts";

const POLL_MS = 50;

/** Asks each until it has no objection, or the time is over; the objections that are left. */
export async function untilReady(
  questions: readonly (() => Promise<string | undefined>)[],
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const deadline = Date.now() + limitMs;
  const answers = await Promise.all(
    questions.map(async (ask) => {
      for (;;) {
        const objection = await ask();
        if (objection === undefined || signal.aborted || Date.now() > deadline) return objection;
        await wait(POLL_MS, signal);
      }
    }),
  );
  return answers.filter((answer) => answer !== undefined);
}
