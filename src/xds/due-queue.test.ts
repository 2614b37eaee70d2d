import { describe, expect, test } from "vitest";
import { DUE_CHANGES, type Due } from "./plan-answer.ts";
import { createDueQueue } from "./server-stream.ts";
import { XDS_TYPES, type XdsType } from "./xds-types.ts";

const ORDER = XDS_TYPES.map(({ type }) => type);
const EVERYTHING: Due = { everything: true, names: new Set(), held: new Map() };
const named = (...names: readonly string[]): Due => ({ everything: false, names: new Set(names), held: new Map() });

/** A queue in front of a client that takes messages when the test says so. */
function setUp({ isSlow = () => false }: { isSlow?: (type: XdsType) => boolean } = {}) {
  const sent: string[] = [];
  const reasons: Due[] = [];
  const takers: { resolve(): void; reject(thrown: Error): void }[] = [];
  const queue = createDueQueue<XdsType>({
    send: (type, why) => {
      sent.push(type);
      reasons.push(why);
      if (!isSlow(type)) return undefined;
      return new Promise<void>((resolve, reject) => takers.push({ resolve, reject }));
    },
    order: ORDER,
  });
  return { queue, sent, reasons, takers };
}

describe("what is due", () => {
  test("goes out in the order of the types, regardless of the order of the marks", async () => {
    const { queue, sent } = setUp();
    for (const type of ["RDS", "LDS", "NDS", "EDS", "CDS"] as const) queue.mark(type, DUE_CHANGES);
    await queue.drain();
    expect(sent).toEqual(["CDS", "EDS", "LDS", "RDS", "NDS"]);
  });

  test("is sent once, with all reasons together", async () => {
    const { queue, sent, reasons } = setUp();
    queue.mark("EDS", named("a"));
    queue.mark("EDS", DUE_CHANGES);
    queue.mark("EDS", named("b"));
    await queue.drain();
    await queue.drain();
    expect(sent).toEqual(["EDS"]);
    expect([...(reasons[0]?.names ?? [])]).toEqual(["a", "b"]);
  });

  test("is dropped with its subscription", async () => {
    const { queue, sent } = setUp();
    queue.mark("CDS", EVERYTHING);
    queue.mark("LDS", EVERYTHING);
    queue.forget("CDS");
    await queue.drain();
    expect(sent).toEqual(["LDS"]);
  });

  test("may lead to more, which goes out before what stands behind it", async () => {
    const sent: XdsType[] = [];
    const queue = createDueQueue<XdsType>({
      send: (type) => {
        sent.push(type);
        if (type === "CDS") queue.mark("EDS", EVERYTHING);
        return undefined;
      },
      order: ORDER,
    });
    queue.mark("CDS", DUE_CHANGES);
    queue.mark("LDS", DUE_CHANGES);
    await queue.drain();
    expect(sent).toEqual(["CDS", "EDS", "LDS"]);
  });
});

describe("a client that does not read", () => {
  test("gets nothing more, and what came up meanwhile as one message", async () => {
    const { queue, sent, takers } = setUp({ isSlow: (type) => type === "CDS" });
    queue.mark("CDS", EVERYTHING);
    queue.mark("LDS", EVERYTHING);
    const drained = queue.drain();
    expect(queue.isBehind).toBe(true);
    for (let push = 0; push < 10; push += 1) {
      queue.mark("EDS", DUE_CHANGES);
      void queue.drain();
    }
    expect(sent).toEqual(["CDS"]);
    takers[0]?.resolve();
    await drained;
    expect(sent).toEqual(["CDS", "EDS", "LDS"]);
    expect(queue.isBehind).toBe(false);
  });

  test("has one drain, which everybody waits for", async () => {
    const { queue, takers } = setUp({ isSlow: () => true });
    queue.mark("CDS", EVERYTHING);
    expect(queue.drain()).toBe(queue.drain());
    takers[0]?.resolve();
    await queue.drain();
  });

  test("and whose stream breaks does not fail its pushes", async () => {
    const { queue, sent, takers } = setUp({ isSlow: () => true });
    queue.mark("CDS", EVERYTHING);
    const drained = queue.drain();
    takers[0]?.reject(new Error("reset"));
    await drained;
    expect(sent).toEqual(["CDS"]);
  });
});

describe("the end", () => {
  test("drops what is due and lets nothing out any more", async () => {
    const { queue, sent } = setUp();
    queue.mark("CDS", EVERYTHING);
    queue.end();
    expect(queue.isOver).toBe(true);
    await queue.drain();
    queue.mark("LDS", EVERYTHING);
    await queue.drain();
    expect(sent).toEqual([]);
  });

  test("while the client is behind leaves the rest unsent", async () => {
    const { queue, sent, takers } = setUp({ isSlow: (type) => type === "CDS" });
    queue.mark("CDS", EVERYTHING);
    queue.mark("LDS", EVERYTHING);
    const drained = queue.drain();
    queue.end();
    takers[0]?.resolve();
    await drained;
    expect(sent).toEqual(["CDS"]);
  });
});
