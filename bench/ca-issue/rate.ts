const ROUND_MS = 1_500;
const AT_A_TIME = 32;

/** Calls per second with a fixed number of them running at any moment. */
export async function rate(work: () => Promise<unknown>): Promise<number> {
  let done = 0;
  const started = performance.now();
  const worker = async () => {
    while (performance.now() - started < ROUND_MS) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return (done * 1000) / (performance.now() - started);
}
