import { createGunzip, gunzipSync } from "node:zlib";
import { errorMessage } from "../base/coded-error.ts";
import type { Encoding } from "./compression.ts";
import { type FrameSink, notCompressed, tooLarge } from "./frame-scanner.ts";
import { GrpcError } from "./status.ts";

export interface InflateOptions {
  /** The peer's grpc-encoding. Asked late: it comes with the answer's headers. */
  readonly encoding: () => Encoding | undefined;
  /** Per message, after decompression. */
  readonly maxBytes: number;
}

export interface InflatedFrames {
  readonly sink: FrameSink;
  /** Bytes of compressed messages so far, and whether one is under way. */
  readonly held: { readonly bytes: number; readonly isReceiving: boolean };
}

/** Magic, header and trailer: shorter cannot be gzip (RFC 1952). */
const MIN_GZIP_BYTES = 18;
/** More than this deflate cannot make of one byte. */
const MAX_RATIO = 1032;
/** A compressed message is held until it is complete, because its length stands at its end. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** Up to here another thread would cost more than it takes off this one. */
const SMALL_BYTES = 128 * 1024;
const PIECE_BYTES = 64 * 1024;

/**
 * Passes frames on as if they had never been compressed. Only the compressed form is held; what is unpacked goes on piece by piece, as
 * fast as it is taken. Frames that come while one is being unpacked wait for it.
 */
export function inflateFrames(sink: FrameSink, options: InflateOptions): InflatedFrames {
  const held = { bytes: 0, isReceiving: false };
  let pieces: Buffer[] | undefined;
  let pieceBytes = 0;
  let busy: Promise<void> | undefined;

  /** At once, or when it is its turn. */
  const inTurn = (act: () => void | Promise<void>): void | Promise<void> => {
    const done = busy === undefined ? act() : busy.then(act);
    if (done === undefined) return undefined;
    const settled = done.finally(() => {
      if (busy === settled) busy = undefined;
    });
    settled.catch(() => undefined); // a later frame's fault may be reported first
    busy = settled;
    return settled;
  };

  return {
    held,
    sink: {
      start(length, compressed) {
        if (!compressed)
          return busy === undefined ? sink.start(length, false) : inTurn(() => sink.start(length, false));
        if (options.encoding() !== "gzip") throw notCompressed();
        if (length > MAX_HELD_BYTES) throw tooLarge(length, MAX_HELD_BYTES);
        pieces = [];
        pieceBytes = 0;
        held.isReceiving = true;
        return undefined;
      },
      bytes(piece) {
        if (pieces === undefined) return busy === undefined ? sink.bytes(piece) : inTurn(() => sink.bytes(piece));
        pieces.push(piece);
        pieceBytes += piece.length;
        held.bytes += piece.length;
        return undefined;
      },
      end() {
        if (pieces === undefined) return busy === undefined ? sink.end() : inTurn(() => sink.end());
        const message = Buffer.concat(pieces, pieceBytes);
        pieces = undefined;
        held.isReceiving = false;
        return inTurn(() => unpack(message, sink, options.maxBytes));
      },
    },
  };
}

function unpack(message: Buffer, sink: FrameSink, maxBytes: number): void | Promise<void> {
  const length = unpackedLength(message);
  if (length > maxBytes) throw tooLarge(length, maxBytes);
  return length <= SMALL_BYTES ? unpackSmall(message, length, sink) : unpackLarge(message, length, sink);
}

/** What gzip says at its end, unless that cannot be. */
function unpackedLength(message: Buffer): number {
  const length = message.length < MIN_GZIP_BYTES ? Number.NaN : message.readUInt32LE(message.length - 4);
  if (length <= message.length * MAX_RATIO) return length;
  throw broken("no gzip message of this length is possible");
}

function unpackSmall(message: Buffer, length: number, sink: FrameSink): void | Promise<void> {
  const bytes = unpackAtOnce(message, length);
  if (bytes.length !== length) throw broken("its length is not what it says at its end");
  const waits = [sink.start(length, false), length > 0 ? sink.bytes(bytes) : undefined, sink.end()];
  const pending = waits.filter((wait) => wait !== undefined);
  return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined);
}

function unpackAtOnce(message: Buffer, length: number): Buffer {
  try {
    return gunzipSync(message, { maxOutputLength: Math.max(1, length), chunkSize: Math.max(64, length + 1) });
  } catch (cause) {
    throw broken(errorMessage(cause), cause);
  }
}

async function unpackLarge(message: Buffer, length: number, sink: FrameSink): Promise<void> {
  await sink.start(length, false);
  let left = length;
  // Leaving the loop in any way closes the unpacker and frees its memory.
  const unpacker = createGunzip({ chunkSize: PIECE_BYTES });
  unpacker.end(message);
  for await (const piece of readPieces(unpacker)) {
    left -= piece.length;
    if (left < 0) throw broken("it is longer than it says at its end");
    await sink.bytes(piece);
  }
  if (left > 0) throw broken("it is shorter than it says at its end");
  await sink.end();
}

/** What the consumer throws is not ours to explain; what the unpacker does is. */
async function* readPieces(unpacker: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const pieces = unpacker[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await pieces.next().catch((cause: unknown) => {
        throw broken(errorMessage(cause), cause);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await pieces.return?.();
  }
}

function broken(text: string, cause?: unknown): GrpcError {
  return new GrpcError("INTERNAL", `grpc: failed to decompress the received message: ${text}`, { cause });
}
