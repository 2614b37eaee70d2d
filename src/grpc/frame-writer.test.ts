import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { FrameWriter } from "./frame-writer.ts";
import { GrpcError } from "./status.ts";

/** A stream whose reader takes one chunk at a time, on request. */
function slowStream() {
  const taken: Buffer[] = [];
  const pending: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 10,
    write(chunk: Buffer, _encoding, done) {
      taken.push(chunk);
      pending.push(done);
    },
    writev(chunks, done) {
      taken.push(...chunks.map(({ chunk }) => chunk as Buffer));
      pending.push(done);
    },
  });
  const takeAll = () => {
    for (const done of pending.splice(0)) done();
  };
  return { stream, taken, takeAll };
}

test("a small message is one write, a large one is not copied", () => {
  const { stream, taken } = slowStream();
  const writer = new FrameWriter(stream, 1e6);
  writer.write(Buffer.from("ab"));
  expect(taken.map((chunk) => chunk.toString("hex"))).toEqual(["00000000026162"]);
  const large = Buffer.alloc(20_000);
  const second = slowStream();
  new FrameWriter(second.stream, 1e6).write(large);
  expect(second.taken.map((chunk) => chunk.length)).toEqual([5, 20_000]);
  expect(second.taken[1]).toBe(large);
});

test("room is undefined, no room is one promise for all who wait, settled by the drain", async () => {
  const { stream, takeAll } = slowStream();
  const writer = new FrameWriter(stream, 1e6);
  expect(writer.write(Buffer.alloc(1))).toBeUndefined();
  expect(writer.write(Buffer.alloc(60_000))).toBeUndefined(); // a little may wait in the stream itself
  const waits = [writer.write(Buffer.alloc(10_000)), writer.write(Buffer.alloc(10))];
  expect(waits[0]).toBeInstanceOf(Promise);
  expect(waits[1]).toBe(waits[0]);
  expect(stream.listenerCount("drain")).toBe(1);
  takeAll();
  await new Promise((resolve) => setImmediate(resolve));
  takeAll();
  await waits[0];
  expect(writer.write(Buffer.alloc(1))).toBeUndefined();
});

test("the end of the call wakes who waits and refuses who comes", async () => {
  const { stream } = slowStream();
  const writer = new FrameWriter(stream, 1e6);
  const waiting = writer.write(Buffer.alloc(70_000));
  const failure = new GrpcError("ABORTED", "over");
  writer.close(failure);
  await expect(waiting).rejects.toBe(failure);
  expect(() => writer.write(Buffer.alloc(1))).toThrow(failure);
  expect(() => writer.writeStart(1, false)).toThrow(failure);
  expect(() => writer.writeBytes(Buffer.alloc(1))).toThrow(failure);
});

test("after a good end, writing says that the call has ended", () => {
  const writer = new FrameWriter(slowStream().stream, 1e6);
  writer.close();
  expect(() => writer.write(Buffer.alloc(1))).toThrow(expect.objectContaining({ code: "CANCELLED" }));
});

test("a message above the limit is refused and nothing is written", () => {
  const { stream, taken } = slowStream();
  const writer = new FrameWriter(stream, 10);
  expect(() => writer.write(Buffer.alloc(11))).toThrow(expect.objectContaining({ code: "RESOURCE_EXHAUSTED" }));
  expect(() => writer.writeStart(11, false)).toThrow(expect.objectContaining({ code: "RESOURCE_EXHAUSTED" }));
  expect(taken).toEqual([]);
});

test("frames in pieces: header first, flag retained", () => {
  const { stream, taken, takeAll } = slowStream();
  const writer = new FrameWriter(stream, 1e6);
  writer.writeStart(3, true);
  writer.writeBytes(Buffer.from("ab"));
  writer.writeBytes(Buffer.from("c"));
  takeAll();
  expect(Buffer.concat(taken).toString("hex")).toBe("0100000003616263");
});

test("a message in chunks is one frame and no chunk is copied", () => {
  const { stream, taken } = slowStream();
  const writer = new FrameWriter(stream, 100);
  const shared = Buffer.from("shared");
  stream.cork();
  expect(writer.writeChunks([Buffer.from("a"), shared, Buffer.alloc(0), Buffer.from("z")])).toBeInstanceOf(Promise);
  stream.uncork();
  expect(Buffer.concat(taken).toString("hex")).toBe(`0000000008${Buffer.from("asharedz").toString("hex")}`);
  expect(taken).toContain(shared);
  expect(() => writer.writeChunks([Buffer.alloc(60), Buffer.alloc(41)])).toThrow(
    expect.objectContaining({ code: "RESOURCE_EXHAUSTED" }),
  );
});

test("a message in chunks that are compressed says so", () => {
  const { stream, taken } = slowStream();
  stream.cork();
  void new FrameWriter(stream, 100).writeChunks([Buffer.from("ab"), Buffer.from("c")], true);
  stream.uncork();
  expect(Buffer.concat(taken).toString("hex")).toBe("0100000003616263");
});

test("a stream that is full again and again is listened to once", async () => {
  const { stream, takeAll } = slowStream();
  const writer = new FrameWriter(stream, 1e6);
  const seen = new Set<unknown>();
  for (let round = 0; round < 3; round += 1) {
    const wait = writer.write(Buffer.alloc(70_000));
    seen.add(wait);
    while (stream.writableLength > 0) {
      takeAll();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await wait;
  }
  expect(seen.size).toBe(3);
  expect(stream.listenerCount("drain")).toBe(1);
});
