import { readFileSync } from "node:fs";

/**
 * The longest turn of the event loop until `work` is done, in milliseconds of this thread's processor time: what neighbours on a busy
 * machine do not change. Nothing that this thread serves can wait longer for it.
 */
export async function longestTurnDuring(work: Promise<unknown>): Promise<number> {
  const cpuMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  let longest = 0;
  for (let before = cpuMs(); !isDone; ) {
    await new Promise((nextTurn) => setImmediate(nextTurn));
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  }
  await done;
  return longest;
}
