import type { FrameWriter } from "../frame-writer.ts";

/** A write as it was made, to be made again on another stream. */
export type FrameWrite = (writer: FrameWriter) => Promise<void> | undefined | void;

/** What a call has sent before it was answered: the server may yet refuse it unseen, and then it is sent again. */
export class SentFrames {
  readonly #writes: FrameWrite[] = [];
  /** Payload that is held on to. */
  bytes = 0;

  add(write: FrameWrite, bytes: number): void {
    this.#writes.push(write);
    this.bytes += bytes;
  }

  /** No wait for room here: it was all taken once before. */
  repeat(writer: FrameWriter): void {
    for (const write of this.#writes) void write(writer);
  }
}
