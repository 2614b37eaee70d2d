/** Numbers from 0 to 65535. */
export type Random16 = () => number;

/**
 * Shuffles in place. The sequence of draws is part of the behaviour: with a counting source the order is known, and stays the same for
 * everybody who compares answers with those of other agents.
 */
export function shuffle<Item>(items: Item[], random: Random16): void {
  const size = items.length;
  if (size < 2) return;
  if (size === 2) {
    if (random() % 2 === 0) swap(items, 0, 1);
    return;
  }
  for (let round = 0; round < size * ((random() % 4) + 1); round++) {
    const first = random() % size;
    let second = random() % size;
    if (first === second) second = (second + 1) % size;
    swap(items, first, second);
  }
}

/** A fast generator for the order of answers; nothing secret depends on it. */
export function createRandom16(seed: number): Random16 {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xffff;
  };
}

function swap<Item>(items: Item[], first: number, second: number): void {
  const item = items[first] as Item;
  items[first] = items[second] as Item;
  items[second] = item;
}
