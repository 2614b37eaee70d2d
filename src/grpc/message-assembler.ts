import type { FrameSink } from "./frame-scanner.ts";

/** Up to here the peer's word on the length is enough to allocate; a longer message has to arrive to get its memory. */
const TRUSTED_BYTES = 32 * 1024 * 1024;

/** Puts the pieces of each frame together; a message that came in one piece is passed on without a copy. */
export function assembleMessages(onMessage: (bytes: Buffer, compressed: boolean) => void | Promise<void>): FrameSink {
  let length = 0;
  let compressed = false;
  let filled = 0;
  let buffer = EMPTY;
  return {
    start(frameLength, isCompressed) {
      length = frameLength;
      compressed = isCompressed;
      filled = 0;
      buffer = EMPTY;
    },
    bytes(piece) {
      // A message that may have to wait for room gets its memory with the second piece.
      if (filled === 0) {
        buffer = piece;
        filled = piece.length;
        return;
      }
      if (filled + piece.length > buffer.length) buffer = grow(buffer, filled, filled + piece.length, length);
      piece.copy(buffer, filled);
      filled += piece.length;
    },
    end() {
      const message = buffer;
      buffer = EMPTY; // a waiting stream must not hold on to the last message
      return onMessage(message, compressed);
    },
  };
}

const EMPTY: Buffer = Buffer.alloc(0);

function grow(buffer: Buffer, filled: number, needed: number, length: number): Buffer {
  const capacity = Math.min(length, Math.max(TRUSTED_BYTES, needed, buffer.length * 2));
  const larger = Buffer.allocUnsafeSlow(capacity);
  buffer.copy(larger, 0, 0, filled);
  return larger;
}
