export interface Bounds<Item> {
  /** So many are under way at a time. */
  readonly maxTasks: number;
  /** What is under way costs no more than this together; an item that costs more by itself goes alone. */
  readonly maxCost?: number;
  readonly costOf?: (item: Item) => number;
}

/**
 * Does a task for each item, several at a time, begun in the order of the items. Resolves with the results in that order. After a
 * failure nothing more is begun; it rejects with the first one when all that was under way has ended.
 */
export function mapBounded<Item, Result>(
  items: readonly Item[],
  task: (item: Item) => Promise<Result>,
  { maxTasks, maxCost = Number.POSITIVE_INFINITY, costOf = () => 0 }: Bounds<Item>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const waiting = items.entries();
  let next = waiting.next();
  let running = 0;
  let cost = 0;
  let failure: { readonly reason: unknown } | undefined;
  return new Promise((resolve, reject) => {
    const hasRoom = (item: Item) => running === 0 || (running < maxTasks && cost + costOf(item) <= maxCost);
    const begin = async (index: number, item: Item) => {
      const own = costOf(item);
      running += 1;
      cost += own;
      try {
        results[index] = await task(item);
      } catch (reason) {
        failure ??= { reason };
      }
      running -= 1;
      cost -= own;
      goOn();
    };
    const goOn = () => {
      while (failure === undefined && !next.done && hasRoom(next.value[1])) {
        const [index, item] = next.value;
        next = waiting.next();
        void begin(index, item);
      }
      if (running > 0) return;
      if (failure === undefined) resolve(results);
      else reject(failure.reason);
    };
    goOn();
  });
}
