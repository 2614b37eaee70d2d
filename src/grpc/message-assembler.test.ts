import { expect, test } from "vitest";
import { assembleMessages } from "./message-assembler.ts";

function collect(): { messages: Buffer[]; sink: ReturnType<typeof assembleMessages> } {
  const messages: Buffer[] = [];
  return { messages, sink: assembleMessages((bytes) => void messages.push(bytes)) };
}

test("a message that came in one piece is passed on without a copy", () => {
  const { messages, sink } = collect();
  const piece = Buffer.from("whole");
  sink.start(piece.length, false);
  sink.bytes(piece);
  sink.end();
  expect(messages[0]).toBe(piece);
});

test("an empty message is an empty buffer, also after another one", () => {
  const { messages, sink } = collect();
  sink.start(1, false);
  sink.bytes(Buffer.from("x"));
  sink.end();
  sink.start(0, false);
  sink.end();
  expect(messages.map(String)).toEqual(["x", ""]);
});

test("a message larger than what is trusted grows as it arrives and comes out whole", () => {
  const { messages, sink } = collect();
  const length = 80 * 1024 * 1024 + 3;
  const piece = Buffer.alloc(16 * 1024 * 1024, 7);
  sink.start(length, false);
  for (let sent = 0; sent < length; sent += piece.length) sink.bytes(piece.subarray(0, length - sent));
  sink.end();
  expect(messages[0]).toHaveLength(length);
  expect(messages[0]?.every((byte) => byte === 7)).toBe(true);
});

test("the announced length alone takes no memory beyond what is trusted", () => {
  const { sink } = collect();
  const before = process.memoryUsage().arrayBuffers;
  sink.start(2 ** 31 - 1, false);
  sink.bytes(Buffer.from("x"));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThanOrEqual(33 * 1024 * 1024);
});
