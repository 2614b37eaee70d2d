import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildFrameHeader, FrameScanner } from "./frame-scanner.ts";
import { assembleMessages } from "./message-assembler.ts";
import { GrpcError } from "./status.ts";

const LIMIT = 1000;

interface Frame {
  readonly payload: Buffer;
  readonly compressed: boolean;
}

const anyFrame: fc.Arbitrary<Frame> = fc.record({
  payload: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  compressed: fc.boolean(),
});

function encode(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.flatMap(({ payload, compressed }) => [buildFrameHeader(payload.length, compressed), payload]),
  );
}

/** Cuts at the given places, which may repeat (an empty chunk) and come in any order. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

function scan(chunks: readonly Buffer[]): Frame[] {
  const frames: Frame[] = [];
  const sink = assembleMessages((bytes, compressed) => void frames.push({ payload: Buffer.from(bytes), compressed }));
  const scanner = new FrameScanner(sink, LIMIT);
  for (const chunk of chunks) scanner.feed(chunk);
  scanner.finish();
  return frames;
}

test("any chunking of any frames gives the same frames", () => {
  fc.assert(
    fc.property(fc.array(anyFrame), fc.array(fc.nat()), (frames, places) => {
      expect(scan(cut(encode(frames), places))).toEqual(frames);
    }),
  );
});

test("random bytes give frames or a GrpcError, never another throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat()), (bytes, places) => {
      try {
        scan(cut(Buffer.from(bytes), places));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(GrpcError);
      }
    }),
  );
});

test("a stream cut inside a frame, header or payload, is an error at every place but the frame's edges", () => {
  const bytes = encode([{ payload: Buffer.from("abc"), compressed: false }]);
  for (let length = 1; length < bytes.length; length++) {
    expect(() => scan([bytes.subarray(0, length)])).toThrow(/ended in the middle of a message/);
  }
  expect(scan([bytes])).toHaveLength(1);
  expect(scan([])).toEqual([]);
});

test("the pieces of a frame are reported as they come, between its start and its end", () => {
  const seen: string[] = [];
  const scanner = new FrameScanner(
    {
      start: (length, compressed) => void seen.push(`start ${length} ${compressed}`),
      bytes: (piece) => void seen.push(`bytes ${piece.toString()}`),
      end: () => void seen.push("end"),
    },
    LIMIT,
  );
  scanner.feed(Buffer.concat([buildFrameHeader(5, true), Buffer.from("ab")]));
  scanner.feed(Buffer.from("cde"));
  scanner.feed(buildFrameHeader(0));
  expect(seen).toEqual(["start 5 true", "bytes ab", "bytes cde", "end", "start 0 false", "end"]);
});

describe("limits", () => {
  test.each([
    { name: "at the limit", length: LIMIT, code: undefined },
    { name: "one above", length: LIMIT + 1, code: "RESOURCE_EXHAUSTED" },
    { name: "the largest a header can say", length: 0xffff_ffff, code: "RESOURCE_EXHAUSTED" },
  ])("a frame $name is judged by its header alone", ({ length, code }) => {
    const feed = () =>
      new FrameScanner(
        assembleMessages(() => undefined),
        LIMIT,
      ).feed(buildFrameHeader(length));
    if (code === undefined) expect(feed()).toBeUndefined();
    else
      expect(feed).toThrow(
        expect.objectContaining({ code, message: `grpc: received message larger than max (${length} vs. 1000)` }),
      );
  });

  test("a flag other than 0 and 1 is not gRPC", () => {
    const feed = () =>
      new FrameScanner(
        assembleMessages(() => undefined),
        LIMIT,
      ).feed(Buffer.from("GET / HTTP/1.1"));
    expect(feed).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  });
});

test("a sink that needs time makes feed return a promise which settles after all of them", async () => {
  const releases: (() => void)[] = [];
  const scanner = new FrameScanner(
    assembleMessages(() => new Promise<void>((resolve) => void releases.push(resolve))),
    LIMIT,
  );
  let settled = false;
  const wait = scanner.feed(
    encode([
      { payload: Buffer.from("a"), compressed: false },
      { payload: Buffer.from("b"), compressed: false },
    ]),
  );
  const done = wait?.then(() => {
    settled = true;
  });
  expect(releases).toHaveLength(2);
  releases[0]?.();
  await Promise.resolve();
  expect(settled).toBe(false);
  releases[1]?.();
  await done;
  expect(settled).toBe(true);
  expect(scanner.feed(Buffer.alloc(0))).toBeUndefined();
});

test("a wait that fails after a later frame of the same chunk was at fault is ignored", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const scanner = new FrameScanner(
      assembleMessages(() => Promise.reject(new Error("the reader is gone"))),
      LIMIT,
    );
    const good = encode([{ payload: Buffer.from("a"), compressed: false }]);
    expect(() => scanner.feed(Buffer.concat([good, Buffer.from("GET /")]))).toThrow("payload format");
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("a wait that is the same for all pieces of a chunk is handed on as it is", () => {
  const wait = Promise.resolve();
  const scanner = new FrameScanner({ start: () => undefined, bytes: () => wait, end: () => undefined }, LIMIT);
  const frames = ["a", "b"].map((text) => ({ payload: Buffer.from(text), compressed: false }));
  expect(scanner.feed(encode(frames))).toBe(wait);
  expect(scanner.feed(buildFrameHeader(1))).toBeUndefined();
});
