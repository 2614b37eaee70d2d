/** What is linear stays below: sorting, more collections and memory that no longer fits a cache take up to 30 times as long, a square 64 times. */
export const BELOW_SQUARE = 40;

const MAX_ROUNDS = 7;
/** Far from it: no more rounds are needed. */
const CLEARLY_LINEAR = 16;

/** In microseconds. Of less, the garbage collector and the kernel's first use of a page are the larger part. */
const LEAST_TIME = 5000;
const MAX_REPETITIONS = 1024;

/**
 * How many times the processor time of this process `work` takes for an input eight times as long: about 8 where the cost is linear, 64
 * where it is quadratic. Both are measured in turns of the same run, so that neither the machine nor its load matters; when two rounds
 * agree that the cost is linear there are no more of them. What is quick is done several times in each of them.
 */
export function growthFactor(work: (length: number) => void, length: number): number {
  const repetitions = repetitionsOf(() => work(length));
  const [short, long] = [[] as number[], [] as number[]];
  const factor = () => Math.min(...long) / Math.max(Math.min(...short), 1);
  while (short.length < 2 || (short.length < MAX_ROUNDS && factor() >= CLEARLY_LINEAR)) {
    short.push(processorTime(() => work(length), repetitions));
    long.push(processorTime(() => work(8 * length), repetitions));
  }
  return factor();
}

function repetitionsOf(work: () => void): number {
  let repetitions = 1;
  while (repetitions < MAX_REPETITIONS && processorTime(work, repetitions) < LEAST_TIME) repetitions *= 2;
  return repetitions;
}

/** In microseconds. */
function processorTime(work: () => void, repetitions: number): number {
  const before = process.cpuUsage();
  for (let repetition = 0; repetition < repetitions; repetition += 1) work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
