import { expect, test } from "vitest";
import { createRequestSender, sendLastRequests } from "./request-sender.ts";

function senderTo(room: () => Promise<void> | undefined) {
  const frames: string[] = [];
  let sent = 0;
  const sender = createRequestSender(
    {
      writeFrameStart: (length) => void frames.push(`<${length}>`),
      writeFrameBytes: (bytes) => {
        frames.push(String(bytes.length));
        return room();
      },
    },
    () => {
      sent += 1;
    },
  );
  return { sender, frames, sent: () => sent };
}

test("messages go out whole and in order, an empty one too", () => {
  const { sender, frames, sent } = senderTo(() => undefined);
  for (const length of [3, 0, 5]) sender.enqueue(Buffer.alloc(length));
  expect(frames).toEqual(["<3>", "3", "<0>", "<5>", "5"]);
  expect(sent()).toBe(3);
});

test("a large message goes in pieces, and others wait behind it while the peer has no room", async () => {
  let free: () => void = () => undefined;
  const { sender, frames, sent } = senderTo(
    () =>
      new Promise((resolve) => {
        free = resolve;
      }),
  );
  sender.enqueue(Buffer.alloc(300 * 1024));
  sender.enqueue(Buffer.alloc(1));
  expect(frames).toEqual([`<${300 * 1024}>`, String(256 * 1024)]);
  expect(sender.progress()).toEqual({ owed: true, count: 0 });
  for (const count of [1, 2, 3]) {
    free();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sender.progress().count).toBe(count);
  }
  expect(frames.slice(2)).toEqual([String(44 * 1024), "<1>", "1"]);
  expect(sender.progress().owed).toBe(false);
  expect(sent()).toBe(2);
});

test("a failing write is reported", async () => {
  const { sender } = senderTo(() => Promise.reject(new Error("gone")));
  sender.enqueue(Buffer.alloc(1));
  await expect(sender.failed).rejects.toThrow("gone");
});

test("the last requests are sent before the half-close, which is waited for too", async () => {
  let free: () => void = () => undefined;
  const { sender, frames } = senderTo(
    () =>
      new Promise((resolve) => {
        free = resolve;
      }),
  );
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  sender.enqueue(Buffer.alloc(1));
  sender.enqueue(Buffer.alloc(2));
  let done = false;
  const call = { end: () => void frames.push("end"), sent: () => left };
  const sending = sendLastRequests(sender, call).then(() => {
    done = true;
  });
  for (let requests = 0; requests < 2; requests += 1) {
    expect(frames).not.toContain("end");
    free();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(frames).toEqual(["<1>", "1", "<2>", "2", "end"]);
  expect(done).toBe(false);
  leave();
  await sending;
});

test.each([
  ["a control plane that takes nothing", () => new Promise<void>(() => undefined)],
  ["one that is gone", () => Promise.reject(new Error("gone"))],
])("%s is not waited for without an end", async (_, room) => {
  const { sender } = senderTo(room);
  sender.enqueue(Buffer.alloc(1));
  await sendLastRequests(sender, { end: () => undefined, sent: () => Promise.resolve() });
});
