import { describe, expect, test, vi } from "vitest";
import { CDS, push } from "../../test/support/xds-harness.ts";
import { createResponseRelay, type ResponseRelayOptions } from "./response-relay.ts";

/** A client whose room the test decides about. */
function relayTo(options: Partial<ResponseRelayOptions> = {}) {
  const written: Buffer[] = [];
  let wait: Promise<void> | undefined;
  const relay = createResponseRelay({
    kind: "delta",
    downstream: {
      writeFrameStart: (length) => void written.push(Buffer.from(`<${length}>`)),
      writeFrameBytes: (bytes) => {
        written.push(Buffer.from(bytes));
        return wait;
      },
    },
    decide: () => "forward",
    onHeld: () => undefined,
    onResponse: () => undefined,
    ...options,
  });
  const feed = async (message: Buffer, cut = message.length) => {
    const waits = [relay.sink.start(message.length, false)];
    for (let at = 0; at < message.length; at += cut) waits.push(relay.sink.bytes(message.subarray(at, at + cut)));
    waits.push(relay.sink.end());
    await Promise.all(waits);
  };
  return {
    relay,
    feed,
    text: () => Buffer.concat(written),
    block: () => {
      let free: () => void = () => undefined;
      wait = new Promise((resolve) => {
        free = resolve;
      });
      return () => {
        wait = undefined;
        free();
      };
    },
  };
}

const message = push("delta", CDS, ["a", "b"]);

test.each([1, 7, 4096])("pieces of %i bytes come out as they went in", async (cut) => {
  const { feed, text } = relayTo();
  await feed(message, cut);
  expect(text().equals(Buffer.concat([Buffer.from(`<${message.length}>`), message]))).toBe(true);
});

describe("copies", () => {
  test("are made of wanted types only, whole, whatever the cuts", async () => {
    const copies: Buffer[] = [];
    const { feed } = relayTo({
      wantsCopy: (typeUrl) => typeUrl === CDS,
      onCopied: (_facts, pieces) => void copies.push(Buffer.concat(pieces)),
    });
    await feed(message, 3);
    await feed(push("delta", "type.googleapis.com/envoy.x", ["a"]));
    expect(copies.map((copy) => copy.equals(message))).toEqual([true]);
  });
});

test("a message of the agent waits for the end of the one that passes", async () => {
  const { relay, text } = relayTo();
  relay.sink.start(message.length, false);
  relay.sink.bytes(message.subarray(0, message.length - 1));
  relay.send(Buffer.from("own"));
  relay.sink.bytes(message.subarray(-1));
  relay.sink.end();
  expect(text().toString("latin1").endsWith("<3>own")).toBe(true);
  expect(text().indexOf("own")).toBeGreaterThan(message.length);
});

test("a client that takes longer than ten seconds for a response is told of", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const slow: number[] = [];
    const { feed, block } = relayTo({ onSlowClient: (ms) => void slow.push(ms) });
    const free = block();
    const feeding = feed(message);
    vi.advanceTimersByTime(10_500);
    free();
    await feeding;
    await feed(message);
    expect(slow).toEqual([10_500]);
  } finally {
    vi.useRealTimers();
  }
});

test("progress is owed in the middle of a response, but not while the client has no room", async () => {
  const { relay, block } = relayTo();
  expect(relay.progress()).toEqual({ owed: false, count: 0 });
  relay.sink.start(message.length, false);
  expect(relay.progress()).toEqual({ owed: true, count: 0 });
  const free = block();
  const wait = relay.sink.bytes(message.subarray(0, message.length - 1));
  expect(relay.progress()).toEqual({ owed: false, count: message.length - 1 });
  free();
  await wait;
  expect(relay.progress().owed).toBe(true);
  relay.sink.bytes(message.subarray(-1));
  await relay.sink.end();
  expect(relay.progress().owed).toBe(false);
});
