/** Numbers that follow from a seed alone, so that what a test draws can be drawn again. */
export interface RandomSource {
  /** 0 to 1, without 1. */
  next(): number;
  chance(probability: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
  /** Between the two, both included. */
  between(least: number, most: number): number;
}

/** Mulberry32. */
export function createRandomSource(seed: number): RandomSource {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (values) => values[between(0, values.length - 1)] as (typeof values)[number],
  };
}
