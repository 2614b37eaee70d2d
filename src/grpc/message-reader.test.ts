import { PassThrough } from "node:stream";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Encoding } from "./compression.ts";
import { buildFrameHeader } from "./frame-scanner.ts";
import { MessageReader } from "./message-reader.ts";
import { GrpcError } from "./status.ts";

function frame(text: string, compressed = false): Buffer {
  const payload = compressed ? gzipSync(text) : Buffer.from(text);
  return Buffer.concat([buildFrameHeader(payload.length, compressed), payload]);
}

function read(options: { encoding?: Encoding; decode?: (bytes: Buffer) => string } = {}) {
  const stream = new PassThrough();
  const seen: string[] = [];
  const reader: MessageReader<string> = new MessageReader({
    decode: options.decode ?? ((bytes) => bytes.toString()),
    maxBytes: 1000,
    encoding: () => options.encoding ?? "identity",
    onEnd: () => reader.end(),
    onFault: (fault) => void seen.push(fault.code),
    onReturn: () => void seen.push("left"),
  });
  reader.readFrom(stream);
  return { stream, reader, seen };
}

async function collect(reader: AsyncIterable<string>): Promise<string[]> {
  const messages: string[] = [];
  for await (const message of reader) messages.push(message);
  return messages;
}

test("messages come in order, compressed ones unpacked, and the end ends the iteration", async () => {
  const { stream, reader } = read({ encoding: "gzip" });
  stream.end(Buffer.concat([frame("one"), frame("two", true), frame("")]));
  expect(await collect(reader)).toEqual(["one", "two", ""]);
});

test("several readers who wait are served in their order", async () => {
  const { stream, reader } = read();
  const waiting = [reader.next(), reader.next(), reader.next()];
  stream.end(Buffer.concat([frame("one"), frame("two")]));
  expect(await Promise.all(waiting)).toEqual([
    { done: false, value: "one" },
    { done: false, value: "two" },
    { done: true, value: undefined },
  ]);
});

test("while messages wait for their reader the stream is paused, then it flows again", async () => {
  const { stream, reader } = read();
  stream.write(frame("one"));
  await expect.poll(() => stream.isPaused()).toBe(true);
  stream.write(frame("two"));
  expect((await reader.next()).value).toBe("one");
  expect((await reader.next()).value).toBe("two");
  expect(stream.isPaused()).toBe(false);
});

test("messages that wait are handed out before the failure that ended the call", async () => {
  const { stream, reader } = read();
  stream.write(frame("one"));
  await expect.poll(() => stream.isPaused()).toBe(true);
  reader.end(new GrpcError("ABORTED", "over"));
  expect((await reader.next()).value).toBe("one");
  await expect(reader.next()).rejects.toMatchObject({ code: "ABORTED" });
  await expect(reader.next()).rejects.toMatchObject({ code: "ABORTED" });
});

test("an abort drops them", async () => {
  const { stream, reader } = read();
  stream.write(frame("one"));
  await expect.poll(() => stream.isPaused()).toBe(true);
  reader.abort(new GrpcError("CANCELLED", "over"));
  await expect(reader.next()).rejects.toMatchObject({ code: "CANCELLED" });
});

test("a message that does not decode is a fault of the call with the codec's reason", async () => {
  const decode = () => {
    throw new RangeError("index out of range");
  };
  const { stream, reader, seen } = read({ decode });
  stream.end(frame("x"));
  const message = "grpc: failed to unmarshal the received message: index out of range";
  await expect(reader.next()).rejects.toMatchObject({ code: "INTERNAL", message });
  expect(seen).toEqual(["INTERNAL"]);
});

test("leaving the iteration tells the owner", async () => {
  const { stream, reader, seen } = read();
  stream.write(Buffer.concat([frame("one"), frame("two")]));
  for await (const _message of reader) break;
  expect(seen).toEqual(["left"]);
});

test("random bytes end in messages or a GrpcError, never another throw or a hang", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 30 })), async (chunks) => {
      const { stream, reader } = read({ encoding: "gzip" });
      for (const chunk of chunks) stream.write(Buffer.from(chunk));
      stream.end();
      await collect(reader).catch((failure: unknown) => expect(failure).toBeInstanceOf(GrpcError));
    }),
  );
});
