import type { Writable } from "node:stream";
import type { BlockPool } from "./block-pool.ts";

/** Blocks on their way to the scraper before the sources have to wait. */
const MAX_UNDER_WAY = 2;

/**
 * Gathers pieces into blocks, which are used again once the output is done with them: passing a document on allocates nothing, however
 * large it is. Pieces are copied, so they may change right after the call.
 */
export class BlockWriter {
  readonly #output: Writable;
  readonly #pool: BlockPool;
  #block: Buffer | undefined;
  #used = 0;
  #underWay = 0;
  #wake: (() => void) | undefined;

  constructor(output: Writable, pool: BlockPool) {
    this.#output = output;
    this.#pool = pool;
    output.on("close", () => this.#wake?.());
  }

  /** Wait for `drained` before writing much more. */
  get isFull(): boolean {
    return this.#underWay >= MAX_UNDER_WAY && !this.#output.destroyed;
  }

  write(bytes: Buffer, start = 0, end = bytes.length): void {
    for (let at = start; at < end; ) {
      this.#block ??= this.#pool.take();
      const copied = bytes.copy(this.#block, this.#used, at, end);
      this.#used += copied;
      at += copied;
      if (this.#used === this.#block.length) this.flush();
    }
  }

  text(text: string): void {
    const block = this.#block;
    // No character takes more than three bytes.
    if (block !== undefined && this.#used + text.length * 3 <= block.length)
      this.#used += block.write(text, this.#used);
    else this.write(Buffer.from(text));
  }

  flush(): void {
    const block = this.#block;
    if (block === undefined || this.#used === 0) return;
    const bytes = block.subarray(0, this.#used);
    this.#block = undefined;
    this.#used = 0;
    if (this.#output.destroyed) return;
    this.#underWay++;
    this.#output.write(bytes, () => {
      this.#underWay--;
      this.#pool.give(block);
      if (!this.isFull) this.#wake?.();
    });
  }

  /** Resolves when there is room again, or the output is gone. */
  drained(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
