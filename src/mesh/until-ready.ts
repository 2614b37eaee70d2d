import { wait } from "../base/wait.ts";

const POLL_MS = 50;

export interface UntilReadyOptions {
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** Whether waiting for the question of this number makes no sense any more. */
  readonly isHopeless?: (index: number) => boolean;
}

/** Asks each until it has no objection, or the time is over; the objections that are left. */
export async function untilReady(
  questions: readonly (() => Promise<string | undefined>)[],
  { limitMs, signal, isHopeless }: UntilReadyOptions,
): Promise<readonly string[]> {
  const deadline = Date.now() + limitMs;
  const answers = await Promise.all(
    questions.map(async (ask, index) => {
      for (;;) {
        const objection = await ask();
        if (objection === undefined || signal.aborted || Date.now() > deadline) return objection;
        if (isHopeless?.(index)) return objection;
        await wait(POLL_MS, signal);
      }
    }),
  );
  return answers.filter((answer) => answer !== undefined);
}

/** All of them in one look: who was ready and is not any more is waited for again. */
export async function untilReadyTogether(
  questions: readonly (() => Promise<string | undefined>)[],
  { limitMs, ...options }: UntilReadyOptions,
): Promise<readonly string[]> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const left = await untilReady(questions, { ...options, limitMs: deadline - Date.now() });
    if (left.length > 0 || options.signal.aborted) return left;
    const answers = await Promise.all(questions.map((ask) => ask()));
    if (answers.every((answer) => answer === undefined)) return [];
  }
}
