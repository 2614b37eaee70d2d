import { buffer } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createGunzip, gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gzipPieces, WORTH_BYTES } from "./compression-pieces.ts";

/** Text that repeats itself now and then, as configuration does. */
function text(length: number, seed = 7): Buffer {
  const words = Array.from({ length: 50 }, (_, index) => `outbound|80||svc-${index * seed}.default.svc.cluster.local `);
  let made = "";
  for (let place = seed; made.length < length; place = (place * 31 + 11) % 1009) made += words[place % words.length];
  return Buffer.from(made.slice(0, length));
}

function packed(chunks: readonly Uint8Array[]): Buffer {
  const pieces = gzipPieces(chunks);
  if (pieces === undefined) throw new Error("nothing was worth it");
  return Buffer.concat(pieces);
}

const small = fc.uint8Array({ maxLength: 300 });
/** Random bytes as well as bytes that repeat, just above the limit and far above. */
const large = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 400 }), fc.integer({ min: WORTH_BYTES, max: 4 * WORTH_BYTES }))
  .map(([pattern, length]) => Buffer.alloc(length, pattern));

test("regardless of the pieces, it is the gzip of all of them in a row", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(small, large), { maxLength: 6 }), large, fc.array(small), (before, one, after) => {
      const chunks = [...before, one, ...after];
      expect(gunzipSync(packed(chunks)).equals(Buffer.concat(chunks))).toBe(true);
    }),
  );
});

test.each([
  { name: "alone", chunks: [text(WORTH_BYTES)] },
  { name: "between small ones", chunks: [Buffer.from("version"), text(700_000), Buffer.from("nonce")] },
  { name: "after another large one", chunks: [text(100_000), text(300_000, 3), Buffer.from("nonce")] },
  { name: "beside empty ones", chunks: [Buffer.alloc(0), text(20_000), Buffer.alloc(0)] },
  { name: "beside the largest small one", chunks: [text(WORTH_BYTES - 1), text(WORTH_BYTES), text(WORTH_BYTES - 1)] },
])("a large piece $name is unpacked to what it was, and it is one member", async ({ chunks }) => {
  const bytes = packed(chunks);
  const engine = createGunzip();
  const unpacked = await buffer(engine.end(bytes));
  expect(unpacked.equals(Buffer.concat(chunks))).toBe(true);
  // Nothing stands behind the end, and the end speaks of everything: of several members it would name the last one's length.
  expect(engine.bytesWritten).toBe(bytes.length);
  expect(bytes.readUInt32LE(bytes.length - 4)).toBe(unpacked.length);
});

test("only what is large enough is worth it", () => {
  expect(gzipPieces([])).toBeUndefined();
  expect(gzipPieces([text(WORTH_BYTES - 1), text(WORTH_BYTES - 1)])).toBeUndefined();
  expect(gzipPieces([text(WORTH_BYTES)])).toBeDefined();
});

test("bytes that nothing can be made of grow by next to nothing", () => {
  let state = 1;
  const noise = Buffer.from(
    Array.from({ length: 200_000 }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state >> 16;
    }),
  );
  expect(packed([noise]).length).toBeLessThan(noise.length * 1.001 + 100);
});

describe("a piece that many send", () => {
  const body = text(500_000);
  const deflatedIn = (pieces: readonly Buffer[] | undefined) => pieces?.find(({ length }) => length > 1000);

  test("is deflated once and the same bytes go to all, regardless of what stands around it", () => {
    const first = gzipPieces([Buffer.from("v1"), body, Buffer.from("nonce-1")]);
    const second = gzipPieces([Buffer.from("another version"), body, text(300), Buffer.from("nonce-2")]);
    expect(deflatedIn(first)).toBeDefined();
    expect(deflatedIn(second)).toBe(deflatedIn(first));
    expect(Buffer.concat(second ?? []).length).toBeLessThan(body.length / 4);
  });

  test("keeps no more memory than it has bytes", () => {
    expect(deflatedIn(gzipPieces([body]))?.buffer.byteLength).toBe(deflatedIn(gzipPieces([body]))?.length);
  });

  test("is another piece when it is another buffer", () => {
    expect(deflatedIn(gzipPieces([Buffer.from(body)]))).not.toBe(deflatedIn(gzipPieces([body])));
  });

  test("leaves memory together with what was made of it", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const kept = text(100_000, 11);
    const make = (chunk: Buffer) => new WeakRef(deflatedIn(gzipPieces([chunk])) ?? chunk);
    const [staying, leaving] = [make(kept), make(Buffer.from(kept))];
    // A collection that had begun while it was in use does not find it; the next one does.
    const isGone = () => {
      collect();
      return leaving.deref() === undefined;
    };
    await expect.poll(isGone).toBe(true);
    expect(staying.deref()).toBe(deflatedIn(gzipPieces([kept])));
  });
});
