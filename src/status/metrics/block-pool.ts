/** Buffers of one size that are used again: fresh ones cost page faults, and stay until the garbage collector hears of them. */
export interface BlockPool {
  /** Its content is whatever was there before. */
  take(): Buffer;
  /** Nobody may look at the block any more. */
  give(block: Buffer): void;
}

export const BLOCK_BYTES = 64 * 1024;

/** More than `maxFree` unused blocks are let go. */
export function createBlockPool(maxFree: number): BlockPool {
  const free: Buffer[] = [];
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES),
    give(block) {
      if (free.length < maxFree) free.push(block);
    },
  };
}
