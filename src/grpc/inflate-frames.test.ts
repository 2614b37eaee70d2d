import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Encoding } from "./compression.ts";
import { gzipPieces } from "./compression-pieces.ts";
import { buildFrameHeader, FrameScanner, type FrameSink } from "./frame-scanner.ts";
import { inflateFrames } from "./inflate-frames.ts";

const KB = 1024;
const LARGE = 700 * KB;

interface Sent {
  readonly payload: Buffer;
  readonly compressed: boolean;
}

const plain = (payload: Buffer): Sent => ({ payload, compressed: false });
const packed = (payload: Buffer): Sent => ({ payload: gzipSync(payload), compressed: true });

/** What a sink sees: whole messages, and the length each was announced with. */
function collector(onPiece: () => void | Promise<void> = () => undefined) {
  const messages: Buffer[] = [];
  let announced = -1;
  let pieces: Buffer[] = [];
  const sink: FrameSink = {
    start(length, compressed) {
      expect([announced, compressed]).toEqual([-1, false]);
      announced = length;
    },
    bytes(piece) {
      pieces.push(piece);
      return onPiece();
    },
    end() {
      const message = Buffer.concat(pieces);
      expect(message).toHaveLength(announced);
      messages.push(message);
      [announced, pieces] = [-1, []];
    },
  };
  return { sink, messages, received: () => Buffer.concat(pieces).length };
}

/** Feeds the frames in pieces of `cut` bytes, each when the one before was taken. */
async function feed(
  sink: FrameSink,
  frames: readonly Sent[],
  options: { cut?: number; max?: number; encoding?: Encoding } = {},
) {
  const { cut = 16 * KB, max = 2 ** 31 - 1, encoding = "gzip" } = options;
  const inflated = inflateFrames(sink, { encoding: () => encoding, maxBytes: max });
  const scanner = new FrameScanner(inflated.sink, 2 ** 31 - 1);
  const wire = Buffer.concat(
    frames.flatMap(({ payload, compressed }) => [buildFrameHeader(payload.length, compressed), payload]),
  );
  for (let at = 0; at < wire.length; at += cut) await scanner.feed(wire.subarray(at, at + cut));
  return inflated;
}

/** Bytes that compress about as well as configuration does. */
function text(bytes: number, seed = 1): Buffer {
  const words: string[] = [];
  for (let [length, state] = [0, seed]; length < bytes; length += 14) {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    words.push(`cluster-${String(state % 1000).padStart(5, "0")},`);
  }
  return Buffer.from(words.join("").slice(0, bytes));
}

test("compressed and plain messages of any size come out plain, in order and whole, however they are cut", async () => {
  const message = fc.record({
    size: fc.constantFrom(0, 1, 100, 5 * KB, 127 * KB, 128 * KB, 129 * KB, 300 * KB),
    compressed: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 5 }),
      fc.integer({ min: 1000, max: 500 * KB }),
      async (list, cut) => {
        const payloads = list.map(({ size }, index) => text(size, index + 1));
        const { sink, messages } = collector();
        await feed(
          sink,
          payloads.map((payload, index) => (list[index]?.compressed ? packed(payload) : plain(payload))),
          { cut },
        );
        expect(messages.map((each) => each.toString("latin1"))).toEqual(
          payloads.map((each) => each.toString("latin1")),
        );
      },
    ),
    { numRuns: 40 },
  );
});

test("what our own control plane packs in pieces is unpacked", async () => {
  const chunks = [text(20), text(400 * KB), text(3000), text(50 * KB, 7)];
  const { sink, messages } = collector();
  await feed(sink, [{ payload: Buffer.concat(gzipPieces(chunks) ?? []), compressed: true }]);
  expect(messages[0]?.equals(Buffer.concat(chunks))).toBe(true);
});

test("a slow reader is waited for: no more is unpacked than it takes", async () => {
  let release: () => void = () => undefined;
  let calls = 0;
  const { sink, messages, received } = collector(() => {
    calls += 1;
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  const feeding = feed(sink, [packed(text(LARGE))]);
  await expect.poll(() => calls).toBe(1);
  // What the unpacker has ready is not handed on before the first piece is taken.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setImmediate(done));
  expect([calls, received() <= 64 * KB]).toEqual([1, true]);
  for (let at = 1; messages.length === 0; at = calls) {
    release();
    await expect.poll(() => calls > at || messages.length === 1).toBe(true);
  }
  await feeding;
  expect(messages[0]?.equals(text(LARGE))).toBe(true);
});

test("it tells what it holds, for whoever watches for progress", async () => {
  const { sink } = collector();
  const { sink: outer, held } = inflateFrames(sink, { encoding: () => "gzip", maxBytes: LARGE });
  const { payload } = packed(text(1000));
  outer.start(payload.length, true);
  outer.bytes(payload.subarray(0, 10));
  expect(held).toEqual({ bytes: 10, isReceiving: true });
  outer.bytes(payload.subarray(10));
  await outer.end();
  expect(held).toEqual({ bytes: payload.length, isReceiving: false });
});

describe("hostile bytes", () => {
  const good = gzipSync(text(LARGE));
  const small = gzipSync(text(KB));
  const withLength = (gzip: Buffer, length: number) => {
    const bytes = Buffer.from(gzip);
    bytes.writeUInt32LE(length >>> 0, bytes.length - 4);
    return bytes;
  };
  const flipped = (gzip: Buffer, at: number) => {
    const bytes = Buffer.from(gzip);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    return bytes;
  };
  /** A large bomb that claims to be small; zeroes shrink to a thousandth. */
  const bomb = withLength(gzipSync(Buffer.alloc(100 * KB * KB)), 200 * KB);

  test.each([
    { what: "nothing", payload: Buffer.alloc(0) },
    { what: "no gzip", payload: Buffer.alloc(100, 7) },
    { what: "a length that no deflate can reach", payload: withLength(small, 2 ** 31) },
    { what: "a small message longer than it says", payload: withLength(small, KB - 1) },
    { what: "a small message shorter than it says", payload: withLength(small, KB + 1) },
    { what: "a large message longer than it says", payload: withLength(good, LARGE - 1) },
    { what: "a large message shorter than it says", payload: withLength(good, LARGE + 1) },
    { what: "a wrong checksum", payload: flipped(good, good.length - 6) },
    { what: "a wrong checksum of a small one", payload: flipped(small, small.length - 6) },
    { what: "a message cut short", payload: Buffer.concat([good.subarray(0, good.length / 2), good.subarray(-8)]) },
    { what: "two messages in one", payload: Buffer.concat([good, good]) },
    { what: "garbage in the middle", payload: flipped(good, good.length >> 1) },
  ])("$what: INTERNAL", async ({ payload }) => {
    const { sink, messages } = collector();
    await expect(feed(sink, [{ payload, compressed: true }])).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringContaining("failed to decompress the received message"),
    });
    expect(messages).toEqual([]);
  });

  test("a bomb is left as soon as more comes out than it says", async () => {
    const { sink, messages, received } = collector();
    await expect(feed(sink, [{ payload: bomb, compressed: true }])).rejects.toMatchObject({ code: "INTERNAL" });
    expect([messages.length, received() <= 200 * KB]).toEqual([0, true]);
  });

  test("the limit holds for what is unpacked", async () => {
    const { sink } = collector();
    await expect(feed(sink, [packed(text(LARGE))], { max: LARGE - 1 })).rejects.toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      message: `grpc: received message larger than max (${LARGE} vs. ${LARGE - 1})`,
    });
  });

  test("more than can be held compressed is refused before it comes", () => {
    const { sink } = inflateFrames(collector().sink, { encoding: () => "gzip", maxBytes: 2 ** 31 - 1 });
    expect(() => sink.start(64 * KB * KB + 1, true)).toThrow("grpc: received message larger than max");
  });

  test.each<Encoding>(["identity"])("a compressed message of a peer that said %s is a fault", async (encoding) => {
    await expect(feed(collector().sink, [packed(text(10))], { encoding })).rejects.toMatchObject({
      message: "grpc: compressed flag set with identity or empty encoding",
    });
  });

  test("a fault behind a message that is still being unpacked does not crash the process", async () => {
    const { sink } = collector();
    const frames = [
      { payload: flipped(good, good.length - 6), compressed: true },
      { payload: small, compressed: true },
    ];
    const scanner = new FrameScanner(inflateFrames(sink, { encoding: () => "gzip", maxBytes: LARGE }).sink, LARGE);
    const wire = frames.flatMap(({ payload }) => [buildFrameHeader(payload.length, true), payload]);
    const invalid = Buffer.from([9, 0, 0, 0, 0]);
    expect(() => scanner.feed(Buffer.concat([...wire, invalid]))).toThrow("unexpected payload format 9");
    for (let turn = 0; turn < 50; turn += 1) await new Promise((done) => setImmediate(done));
  });

  test("what the reader throws is passed on as it is", async () => {
    const { sink } = collector(() => Promise.reject(new Error("client gone")));
    await expect(feed(sink, [packed(text(LARGE))])).rejects.toThrow("client gone");
  });
});
