import { Writable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { BLOCK_BYTES, type BlockPool, createBlockPool } from "./block-pool.ts";
import { BlockWriter } from "./block-writer.ts";

/** An output that takes a block when the test says so. */
function slowOutput() {
  const waiting: (() => void)[] = [];
  const taken: Buffer[] = [];
  const output = new Writable({
    highWaterMark: 2 ** 30,
    write: (chunk: Buffer, _encoding, done) => {
      // A copy, as the socket's: the block is used again afterwards.
      taken.push(Buffer.from(chunk));
      waiting.push(done);
    },
  });
  const release = async (count = 1) => {
    for (let index = 0; index < count; index += 1) {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { output, taken, release };
}

const fastOutput = () => {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { output, bytes: () => Buffer.concat(chunks), chunks };
};

const countingPool = () => {
  const inner = createBlockPool(8);
  const pool: BlockPool & { out: number } = {
    out: 0,
    take: () => {
      pool.out += 1;
      return inner.take();
    },
    give: (block) => {
      pool.out -= 1;
      inner.give(block);
    },
  };
  return pool;
};

test("nothing goes out before a block is full or the document ends", () => {
  const { output, chunks, bytes } = fastOutput();
  const writer = new BlockWriter(output, createBlockPool(2));
  writer.text("a 1\n");
  writer.write(Buffer.from("xxb 2\nyy"), 2, 6);
  expect(chunks).toHaveLength(0);
  writer.flush();
  expect(bytes().toString()).toBe("a 1\nb 2\n");
  writer.flush();
  expect(chunks).toHaveLength(1);
});

test("pieces may change right after they were given", () => {
  const { output, bytes } = fastOutput();
  const writer = new BlockWriter(output, createBlockPool(2));
  const piece = Buffer.from("before");
  writer.write(piece);
  piece.fill("x");
  writer.flush();
  expect(bytes().toString()).toBe("before");
});

test("pieces of any size arrive in order and whole", async () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.integer({ min: 1, max: 3 * BLOCK_BYTES }).map((length) => "é".repeat(length >> 1)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(piece, fc.boolean()), { maxLength: 6 }), async (pieces) => {
      const { output, bytes } = fastOutput();
      const pool = countingPool();
      const writer = new BlockWriter(output, pool);
      for (const [text, isText] of pieces) {
        if (isText) writer.text(text);
        else writer.write(Buffer.from(text));
      }
      writer.flush();
      await new Promise((resolve) => output.end(resolve));
      expect(bytes().equals(Buffer.from(pieces.map(([text]) => text).join("")))).toBe(true);
      expect(pool.out).toBe(0);
    }),
    { numRuns: 40 },
  );
});

test("two blocks under way are enough: the writer is full until one was taken", async () => {
  const { output, release } = slowOutput();
  const writer = new BlockWriter(output, createBlockPool(8));
  const block = Buffer.alloc(BLOCK_BYTES, "a");
  writer.write(block);
  expect(writer.isFull).toBe(false);
  await writer.drained();
  writer.write(block);
  expect(writer.isFull).toBe(true);
  let isDrained = false;
  const drained = writer.drained().then(() => {
    isDrained = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDrained).toBe(false);
  await release();
  await drained;
  expect(writer.isFull).toBe(false);
});

test("blocks come back to the pool once they are out, and not before", async () => {
  const { output, release } = slowOutput();
  const pool = countingPool();
  const writer = new BlockWriter(output, pool);
  for (let count = 0; count < 3; count += 1) writer.write(Buffer.alloc(BLOCK_BYTES, "a"));
  expect(pool.out).toBe(3);
  await release(2);
  expect(pool.out).toBe(1);
});

test("a closed output does not make writers wait", async () => {
  const { output } = slowOutput();
  const writer = new BlockWriter(output, createBlockPool(8));
  for (let count = 0; count < 5; count += 1) writer.write(Buffer.alloc(BLOCK_BYTES, "a"));
  const drained = writer.drained();
  output.destroy();
  await drained;
  expect(writer.isFull).toBe(false);
  writer.text("too late");
  writer.flush();
});
