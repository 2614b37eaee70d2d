import { describe, expect, test, vi } from "vitest";
import { CDS, push } from "../../test/support/xds/harness.ts";
import { deltaDiscoveryResponse } from "../protobuf/wire/discovery.ts";
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
    onCollected: () => undefined,
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
  test("are made of wanted types only, whole, regardless of the cuts", async () => {
    const copies: Buffer[] = [];
    const { feed } = relayTo({
      isRecorded: (typeUrl) => typeUrl === CDS,
      onRecorded: (_facts, pieces) => void copies.push(Buffer.concat(pieces)),
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

test("a message of the agent asks its sender to wait while the client has no room", async () => {
  const { relay, feed, block } = relayTo();
  const free = block();
  const before = relay.send(Buffer.from("own"));
  relay.sink.start(message.length, false);
  relay.sink.bytes(message.subarray(0, 1));
  const between = relay.send(Buffer.from("own"));
  let sent = 0;
  const all = [before, between].map((wait) => wait?.then(() => (sent += 1)));
  expect(all).not.toContain(undefined);
  relay.sink.bytes(message.subarray(1));
  relay.sink.end();
  await new Promise(setImmediate);
  expect(sent).toBe(0);
  free();
  await Promise.all(all);
  await feed(message);
  expect(relay.send(Buffer.from("own"))).toBeUndefined();
});

describe("a response is of the type", () => {
  const typeUrl = "istio.io/debug/syncz";
  const begun = message.subarray(0, message.indexOf(CDS) + CDS.length);
  const types = (options: Partial<ResponseRelayOptions>) => {
    const decided: string[] = [];
    const decide = (type: string) => {
      decided.push(type);
      return "forward" as const;
    };
    return { decided, ...relayTo({ decide, ...options }) };
  };

  test("of its first resource where that is certain, and goes on at once", () => {
    const { relay, decided, text } = types({ isForwardedEarly: (type) => type === CDS });
    relay.sink.start(message.length, false);
    relay.sink.bytes(message.subarray(0, begun.length));
    expect(decided).toEqual([CDS]);
    expect(text().length).toBeGreaterThan(begun.length);
  });

  test("that it tells itself everywhere else", async () => {
    const { feed, decided } = types({ isForwardedEarly: () => false });
    const own = deltaDiscoveryResponse.encode({ resources: [{ resource: { typeUrl: CDS } }], typeUrl });
    await feed(own, 1);
    await feed(deltaDiscoveryResponse.encode({ resources: [{ resource: { typeUrl: CDS } }] }), 1);
    expect(decided).toEqual([typeUrl, ""]);
  });
});

test("a client that takes longer than ten seconds for a response is reported", async () => {
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

test("no progress is owed while a held response holds the stream back", async () => {
  let finish: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { relay, feed } = relayTo({ decide: () => "hold", onCollected: () => held });
  const feeding = feed(message);
  relay.sink.start(message.length, false);
  relay.sink.bytes(message.subarray(0, 1));
  expect(relay.progress().owed).toBe(false);
  finish();
  await feeding;
  expect(relay.progress().owed).toBe(true);
});

test("nor while a client without room keeps the next compressed response from being read", async () => {
  const { relay, block } = relayTo({ encoding: () => "gzip" });
  const free = block();
  relay.sink.start(message.length, false);
  const wait = relay.sink.bytes(message);
  relay.sink.end();
  relay.sink.start(100, true);
  expect(relay.progress().owed).toBe(false);
  free();
  await wait;
  expect(relay.progress().owed).toBe(true);
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

test("pieces that come while the client has no room wait together, and the time they wait counts once", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const slow: number[] = [];
    const { relay, block } = relayTo({ onSlowClient: (ms) => void slow.push(ms) });
    relay.sink.start(message.length, false);
    relay.sink.bytes(message.subarray(0, -2));
    const free = block();
    const waits = [relay.sink.bytes(message.subarray(-2, -1)), relay.sink.bytes(message.subarray(-1))];
    expect(waits[0]).toBeInstanceOf(Promise);
    expect(waits[1]).toBe(waits[0]);
    vi.advanceTimersByTime(6000);
    free();
    await waits[0];
    await relay.sink.end();
    expect(slow).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("a client that loses its room again before anybody noticed that it had some is still waited for", async () => {
  const { relay, block } = relayTo();
  relay.sink.start(message.length, false);
  relay.sink.bytes(message.subarray(0, -2));
  const first = block();
  const waits = [relay.sink.bytes(message.subarray(-2, -1))];
  first();
  const second = block();
  waits.push(relay.sink.bytes(message.subarray(-1)));
  await waits[0];
  expect(relay.progress().owed).toBe(false);
  second();
  await waits[1];
  expect(relay.progress().owed).toBe(true);
});

test("a client that goes while it has no room fails what waits for it, without an unhandled failure", async () => {
  let fail: (reason: unknown) => void = () => undefined;
  const gone = new Promise<void>((_resolve, reject) => {
    fail = reject;
  });
  const { relay } = relayTo({ downstream: { writeFrameStart: () => undefined, writeFrameBytes: () => gone } });
  relay.sink.start(message.length, false);
  const wait = relay.sink.bytes(message);
  expect(relay.progress().owed).toBe(false);
  fail(new Error("gone"));
  await expect(wait).rejects.toThrow("gone");
  expect(relay.progress().owed).toBe(true);
});
