import type { Readable } from "node:stream";
import { GrpcError } from "./status.ts";

export const FRAME_HEADER_BYTES = 5;

/**
 * What the scanner reports of each frame. A promise from any of them asks for time: the scanner still reports the rest of the chunk
 * it was fed, and `feed` returns a promise that settles after all of them.
 */
export interface FrameSink {
  start(length: number, compressed: boolean): void | Promise<void>;
  /** A piece of the payload, never empty; a view of the chunk that was fed. */
  bytes(piece: Buffer): void | Promise<void>;
  end(): void | Promise<void>;
}

/** A call as frames in pieces: nothing is assembled, decoded or decompressed. */
export interface FrameStream {
  /** Resolves when the peer's side ended cleanly; rejects with a GrpcError. At most once per call. */
  readFrames(sink: FrameSink): Promise<void>;
  /** Announces a frame; exactly `length` bytes have to follow before the next one. */
  writeFrameStart(length: number, compressed?: boolean): void;
  /** Undefined while there is room, else a promise to wait for before more is written. Throws when the call is over. */
  writeFrameBytes(bytes: Uint8Array): Promise<void> | undefined;
}

/** Finds the message frames (flag, length, payload) in a byte stream cut anywhere, without assembling them. */
export class FrameScanner {
  readonly #sink: FrameSink;
  readonly #maxBytes: number;
  readonly #takesCompressed: boolean;
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES);
  #headerBytes = 0;
  #missing = 0;
  #waits: Promise<void>[] | undefined;

  constructor(sink: FrameSink, maxBytes: number, takesCompressed = true) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
    this.#takesCompressed = takesCompressed;
  }

  /** Throws a GrpcError for an invalid flag or an oversized frame; nothing may be fed after that. */
  feed(chunk: Buffer): Promise<void> | undefined {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#headerBytes < FRAME_HEADER_BYTES) {
        offset += this.#takeHeader(chunk, offset);
        if (this.#headerBytes < FRAME_HEADER_BYTES) break;
        this.#note(this.#startFrame());
      } else {
        // Most chunks of a large message are all payload; even a view costs an object.
        const isWhole = offset === 0 && chunk.length <= this.#missing;
        const piece = isWhole ? chunk : chunk.subarray(offset, offset + this.#missing);
        offset += piece.length;
        this.#missing -= piece.length;
        this.#note(this.#sink.bytes(piece));
      }
      if (this.#missing === 0) {
        this.#headerBytes = 0;
        this.#note(this.#sink.end());
      }
    }
    if (this.#waits === undefined) return undefined;
    const waits = this.#waits;
    this.#waits = undefined;
    return waits.length === 1 ? waits[0] : Promise.all(waits).then(ignore);
  }

  /** To be called at the end of the stream: an unfinished frame is an error. */
  finish(): void {
    if (this.#headerBytes === 0) return;
    throw new GrpcError("INTERNAL", "grpc: the stream ended in the middle of a message: unexpected EOF");
  }

  #note(wait: void | Promise<void>): void {
    // A client without room is the same wait for every piece.
    if (wait === undefined || wait === this.#waits?.at(-1)) return;
    wait.catch(ignore); // when a later frame of the chunk is at fault, this one is not awaited any more
    this.#waits ??= [];
    this.#waits.push(wait);
  }

  #takeHeader(chunk: Buffer, offset: number): number {
    const taken = chunk.copy(this.#header, this.#headerBytes, offset, offset + FRAME_HEADER_BYTES - this.#headerBytes);
    this.#headerBytes += taken;
    return taken;
  }

  #startFrame(): void | Promise<void> {
    const flag = this.#header[0] ?? 0;
    if (flag > 1) throw new GrpcError("INTERNAL", `grpc: received unexpected payload format ${flag}`);
    if (flag === 1 && !this.#takesCompressed) throw notCompressed();
    const length = this.#header.readUInt32BE(1);
    if (length > this.#maxBytes) throw tooLarge(length, this.#maxBytes);
    this.#missing = length;
    return this.#sink.start(length, flag === 1);
  }
}

/**
 * Feeds a stream to the scanner. While a sink asks for time the stream is paused, so that HTTP/2 flow control holds the peer back.
 * `done` is called at most once: at the end of the peer's side, or with what scanner or sink threw; `isCut` says that the end came in the
 * middle of a message.
 */
export function pumpFrames(
  stream: Readable,
  scanner: FrameScanner,
  done: (failure?: unknown, isCut?: boolean) => void,
): void {
  const stopWith = (failure?: unknown, isCut = false) => {
    stream.off("data", onData).off("end", onEnd);
    done(failure, isCut);
  };
  const resume = () => void stream.resume();
  const onData = (chunk: Buffer) => {
    try {
      const wait = scanner.feed(chunk);
      if (wait === undefined) return;
      stream.pause();
      wait.then(resume, stopWith);
    } catch (failure) {
      stream.pause();
      stopWith(failure);
    }
  };
  const onEnd = () => {
    try {
      scanner.finish();
      stopWith();
    } catch (failure) {
      stopWith(failure, true);
    }
  };
  stream.on("data", onData).on("end", onEnd);
}

function ignore(): void {}

/** A frame says that it is compressed, and nothing has said with what. */
export function notCompressed(): GrpcError {
  return new GrpcError("INTERNAL", "grpc: compressed flag set with identity or empty encoding");
}

export function tooLarge(length: number, maxBytes: number): GrpcError {
  return new GrpcError("RESOURCE_EXHAUSTED", `grpc: received message larger than max (${length} vs. ${maxBytes})`);
}

export function buildFrameHeader(length: number, compressed = false): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  header[0] = compressed ? 1 : 0;
  header.writeUInt32BE(length, 1);
  return header;
}
