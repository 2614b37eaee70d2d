/** Buffers of one size that are used again: fresh ones cost page faults, and stay until the next collection. */
export interface BlockPool {
  /** Its content is undefined. */
  take(): Buffer;
  /** The caller must not use the block afterwards. */
  give(block: Buffer): void;
}

/** Each read and each write costs a turn of the event loop and a system call; bench/metrics-merge has the figures. */
export const BLOCK_BYTES = 512 * 1024;

/** Unused blocks beyond `maxFree` are left to the garbage collector. */
export function createBlockPool(maxFree: number): BlockPool {
  const free: Buffer[] = [];
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES),
    give(block) {
      if (free.length < maxFree) free.push(block);
    },
  };
}
