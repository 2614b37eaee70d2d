const MAX_ROUNDS = 5;
/** Far from both: a factor below is not going to be 64. */
const CLEARLY_LINEAR = 16;

/**
 * How many times the processor time of this process `work` takes for an input eight times as long: about 8 where the cost is linear, 64
 * where it is quadratic. Both are measured in turns of the same run, so that neither the machine nor its load matters; when two rounds
 * agree that the cost is linear there are no more of them.
 */
export function growthFactor(work: (length: number) => void, length: number): number {
  work(length);
  const [short, long] = [[] as number[], [] as number[]];
  const factor = () => Math.min(...long) / Math.max(Math.min(...short), 1);
  while (short.length < 2 || (short.length < MAX_ROUNDS && factor() >= CLEARLY_LINEAR)) {
    short.push(processorTime(() => work(length)));
    long.push(processorTime(() => work(8 * length)));
  }
  return factor();
}

/** In microseconds. */
function processorTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
