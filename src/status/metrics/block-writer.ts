import type { Writable } from "node:stream";

const BLOCK_BYTES = 64 * 1024;
/** Below this a copy costs less than a write of its own. */
const COPY_BELOW = 8 * 1024;

/** Gathers small pieces into blocks and passes large ones on without a copy; those must not change afterwards. */
export class BlockWriter {
  readonly #output: Writable;
  #block: Buffer | undefined;
  #used = 0;
  #isFull = false;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** The output has more than it wants: wait for `drained` before writing much more. */
  get isFull(): boolean {
    return this.#isFull && this.#output.writableNeedDrain;
  }

  write(bytes: Buffer): void {
    if (bytes.length >= COPY_BELOW) {
      this.flush();
      this.#send(bytes);
      return;
    }
    if (this.#used + bytes.length > BLOCK_BYTES) this.flush();
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#used += bytes.copy(this.#block, this.#used);
  }

  text(text: string): void {
    this.write(Buffer.from(text));
  }

  flush(): void {
    if (this.#block === undefined || this.#used === 0) return;
    const block = this.#block.subarray(0, this.#used);
    // The output may hold on to the block for a while: the next pieces get another.
    this.#block = undefined;
    this.#used = 0;
    this.#send(block);
  }

  /** Resolves when there is room again, or the output is gone. */
  drained(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#output.off("drain", done);
        this.#output.off("close", done);
        resolve();
      };
      this.#output.on("drain", done);
      this.#output.on("close", done);
    });
  }

  #send(bytes: Buffer): void {
    if (!this.#output.destroyed) this.#isFull = !this.#output.write(bytes);
  }
}
