import { expect, test } from "vitest";
import { BLOCK_BYTES, createBlockPool } from "./block-pool.ts";

test("blocks come back to the next taker, and no more are held than allowed", () => {
  const pool = createBlockPool(2);
  const blocks = [pool.take(), pool.take(), pool.take()];
  expect(new Set(blocks).size).toBe(3);
  for (const block of blocks) pool.give(block);
  const again = [pool.take(), pool.take(), pool.take()];
  expect(again.filter((block) => blocks.includes(block))).toHaveLength(2);
  for (const block of again) expect(block).toHaveLength(BLOCK_BYTES);
});
