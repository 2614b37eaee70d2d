import { expect, test } from "vitest";
import type { FrameSink } from "../grpc/frame-scanner.ts";
import { openInbox } from "./client-inbox.ts";

/** A client whose messages the test sends one by one; each resolves when it was taken. */
function openClient() {
  let sink: FrameSink | undefined;
  let end: (failure?: Error) => void = () => undefined;
  const inbox = openInbox({
    readFrames(given) {
      sink = given;
      return new Promise((resolve, reject) => {
        end = (failure) => (failure === undefined ? resolve() : reject(failure));
      });
    },
  });
  const send = async (text: string | Buffer) => {
    const message = Buffer.from(text);
    sink?.start(message.length, false);
    await sink?.bytes(message);
    // The transport uses its memory again as soon as the message was taken.
    const taken = sink?.end();
    if (taken === undefined) message.fill(0);
    await taken;
  };
  return { inbox, send, end: (failure?: Error) => end(failure) };
}

test("the first message is shown and waits, and is not lost for who takes them", async () => {
  const { inbox, send, end } = openClient();
  const sending = send("one").then(() => send("two"));
  expect(String(await inbox.first)).toBe("one");
  const seen: string[] = [];
  const delivered = inbox.deliver((message) => void seen.push(String(message)));
  await sending;
  expect(seen).toEqual(["one", "two"]);
  end();
  await delivered;
});

test("another taker gets everything again in order, and then what comes", async () => {
  const { inbox, send, end } = openClient();
  const [before, after]: [string[], string[]] = [[], []];
  void inbox.deliver((message) => void before.push(String(message)));
  for (const text of ["one", "two"]) await send(text);
  const repeated = inbox.repeat(async (message) => void after.push(String(message)));
  await send("three");
  expect(before).toEqual(["one", "two"]);
  expect(after).toEqual(["one", "two", "three"]);
  expect(inbox.canRepeat).toBe(false);
  end();
  await repeated;
});

test("what a taker throws, or the client's end, is the end", async () => {
  const { inbox, send, end } = openClient();
  void inbox.deliver(() => undefined);
  await send("one");
  await expect(inbox.repeat(() => Promise.reject(new Error("not for you")))).rejects.toThrow("not for you");
  const other = openClient();
  const delivered = other.inbox.deliver(() => undefined);
  other.end(new Error("reset"));
  await expect(delivered).rejects.toThrow("reset");
  end();
});

test("after an answer nothing is retained, and a client that talks too much is not retained either", async () => {
  const answered = openClient();
  void answered.inbox.deliver(() => undefined);
  await answered.send("one");
  expect(answered.inbox.canRepeat).toBe(true);
  answered.inbox.forget();
  expect(answered.inbox.canRepeat).toBe(false);
  const talker = openClient();
  void talker.inbox.deliver(() => undefined);
  for (let count = 0; count < 3; count += 1) await talker.send(Buffer.alloc(400 * 1024));
  expect(talker.inbox.canRepeat).toBe(false);
});
