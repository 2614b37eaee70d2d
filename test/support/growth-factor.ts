/**
 * How many times the processor time of this process `work` takes for an input eight times as long: about 8 where the cost is linear, 64
 * where it is quadratic. Both are measured in turns of the same run, so that neither the machine nor its load matters.
 */
export function growthFactor(work: (length: number) => void, length: number): number {
  work(length);
  const [short, long] = [[] as number[], [] as number[]];
  for (let round = 0; round < 5; round += 1) {
    short.push(processorTime(() => work(length)));
    long.push(processorTime(() => work(8 * length)));
  }
  return Math.min(...long) / Math.max(Math.min(...short), 1);
}

/** In microseconds. */
function processorTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
