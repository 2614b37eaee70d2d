import { wait } from "../../../src/base/wait.ts";

const TURN_MS = 50;

/** For what would be too late: at least that long, and longer by what the machine stands still, as what is waited for is then late too. */
export async function waitInTurns(ms: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < ms; waitedMs += TURN_MS) await wait(TURN_MS);
}
