import { constants, crc32, deflateRawSync } from "node:zlib";

/** CRC-32 as in gzip: a polynomial over two elements, lowest power in the highest bit. */
const POLYNOMIAL = 0xedb8_8320;
const ONE = 0x8000_0000;
const X_TO_8 = 0x0080_0000;

/** Smaller pieces are mostly one client's own and would be deflated for it alone. */
export const WORTH_BYTES = 16 * 1024;

/** Higher ones take three times as long for a tenth less of an xDS answer (docs/decisions/xds-compression.md). */
const LEVEL = 3;

/** Magic, deflate, no flags, no time, fastest, unknown system (RFC 1952, section 2.3). */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
const TRAILER_BYTES = 8;
const STORED_HEADER_BYTES = 5;
const STORED_MAX_BYTES = 0xffff;

interface Deflated {
  readonly bytes: Buffer;
  readonly crc: number;
  readonly shift: number;
}

/** Leaves with the piece. */
const known = new WeakMap<Uint8Array, Deflated>();

/**
 * One gzip member of all chunks in a row; undefined when none of them is large. Large chunks are deflated alone and once for
 * all messages they are part of; small ones are stored as they are. Chunks must not change afterwards.
 */
export function gzipPieces(chunks: readonly Uint8Array[]): readonly Buffer[] | undefined {
  if (!chunks.some(isWorthIt)) return undefined;
  const pieces: Buffer[] = [];
  let small: Uint8Array[] = [HEADER];
  let [crc, length] = [0, 0];
  for (const chunk of chunks) {
    length += chunk.length;
    if (isWorthIt(chunk)) {
      const deflated = deflate(chunk);
      pieces.push(Buffer.concat(small), deflated.bytes);
      small = [];
      crc = joinCrc(crc, deflated.crc, deflated.shift);
    } else if (chunk.length > 0) {
      small.push(storedHeader(chunk.length, false), chunk);
      crc = crc32(chunk, crc);
    }
  }
  small.push(storedHeader(0, true), trailer(crc, length));
  pieces.push(Buffer.concat(small));
  return pieces;
}

function isWorthIt({ length }: Uint8Array): boolean {
  return length >= WORTH_BYTES;
}

function deflate(chunk: Uint8Array): Deflated {
  const found = known.get(chunk);
  if (found !== undefined) return found;
  // A flush ends at a byte and leaves the stream open, so that anything may follow; nothing refers back beyond the chunk.
  const packed = deflateRawSync(chunk, {
    level: LEVEL,
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: Math.max(WORTH_BYTES, chunk.length >> 2),
  });
  // What is cached must not hold the larger buffer it was made in, nor one that it shares with others.
  const bytes = Buffer.allocUnsafeSlow(packed.length);
  packed.copy(bytes);
  const deflated = { bytes, crc: crc32(chunk), shift: crcShift(chunk.length) };
  known.set(chunk, deflated);
  return deflated;
}

/** A block without compression (RFC 1951, section 3.2.4). */
function storedHeader(length: number, isLast: boolean): Buffer {
  const header = Buffer.allocUnsafe(STORED_HEADER_BYTES);
  header[0] = isLast ? 1 : 0;
  header.writeUInt16LE(length, 1);
  header.writeUInt16LE(length ^ STORED_MAX_BYTES, 3);
  return header;
}

function trailer(crc: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(TRAILER_BYTES);
  bytes.writeUInt32LE(crc, 0);
  bytes.writeUInt32LE(length % 2 ** 32, 4);
  return bytes;
}

/** What a CRC-32 is multiplied by when so many bytes follow: x to the power of their bits. Takes steps by the logarithm of the length. */
export function crcShift(bytes: number): number {
  let result = ONE;
  let square = X_TO_8;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/** The CRC-32 of two pieces in a row from those of each; `shift` is `crcShift` of the second one's length. */
export function joinCrc(first: number, second: number, shift: number): number {
  return (multiply(shift, first) ^ second) >>> 0;
}

function multiply(first: number, second: number): number {
  let product = 0;
  let term = second;
  for (let power = ONE; power !== 0; power >>>= 1) {
    if ((first & power) !== 0) product ^= term;
    term = (term & 1) === 0 ? term >>> 1 : (term >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}
