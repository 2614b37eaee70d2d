import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type RegisteredStream, StreamRegistry } from "./stream-registry.ts";

class Stream implements RegisteredStream {
  isIntroduced = false;
  isPrimary = false;
  readonly reported: string[];
  readonly id: number;
  readonly isEnvoy: boolean;

  constructor(id: number, isEnvoy: boolean, reported: string[] = []) {
    this.id = id;
    this.isEnvoy = isEnvoy;
    this.reported = reported;
  }

  becomePrimary(): void {
    expect(this.isPrimary).toBe(false);
    this.isPrimary = true;
    this.reported.push(`${this.id} becomes`);
  }

  resignPrimary(): void {
    expect(this.isPrimary).toBe(true);
    this.isPrimary = false;
    this.reported.push(`${this.id} resigns`);
  }
}

function introduce(registry: StreamRegistry<Stream>, ...streams: Stream[]): void {
  for (const stream of streams) {
    registry.add(stream);
    stream.isIntroduced = true;
    registry.reconsider();
  }
}

describe("who is primary", () => {
  test.each([
    { what: "no stream, before any has asked for listeners", streams: [], primary: undefined },
    { what: "the oldest of clients that are no Envoys", streams: [false, false], primary: 0 },
    { what: "an Envoy, whoever was there before", streams: [false, true, false], primary: 1 },
    { what: "the newest of two Envoys", streams: [true, false, true, false], primary: 2 },
  ])("$what", ({ streams, primary }) => {
    const registry = new StreamRegistry<Stream>();
    registry.add(new Stream(99, true));
    introduce(registry, ...streams.map((isEnvoy, id) => new Stream(id, isEnvoy)));
    expect(registry.primary?.id).toBe(primary);
  });
});

test("the one before resigns first, and comes back when the newer one has gone", () => {
  const registry = new StreamRegistry<Stream>();
  const reported: string[] = [];
  const [old, young] = [new Stream(1, true, reported), new Stream(2, true, reported)];
  introduce(registry, old, young);
  expect(reported.splice(0)).toEqual(["1 becomes", "1 resigns", "2 becomes"]);
  registry.remove(young);
  expect(reported.splice(0)).toEqual(["2 resigns", "1 becomes"]);
  old.isIntroduced = false;
  registry.reconsider();
  expect(reported).toEqual(["1 resigns"]);
  expect(registry.primary).toBeUndefined();
});

test("in any order of events at most one stream is primary, and it is one of those that may be", () => {
  const event = fc.record({ what: fc.constantFrom("add", "introduce", "lose", "remove"), index: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (events, envoys) => {
      const registry = new StreamRegistry<Stream>();
      const streams = envoys.map((isEnvoy, id) => new Stream(id, isEnvoy));
      const added = new Set<Stream>();
      for (const { what, index } of events) {
        const stream = streams[index];
        if (stream === undefined || (what === "add") === added.has(stream)) continue;
        if (what === "add") {
          added.add(stream);
          registry.add(stream);
        } else if (what === "remove") {
          added.delete(stream);
          stream.isIntroduced = false;
          registry.remove(stream);
        } else {
          stream.isIntroduced = what === "introduce";
          registry.reconsider();
        }
        const introduced = [...added].filter(({ isIntroduced }) => isIntroduced);
        expect(streams.filter(({ isPrimary }) => isPrimary)).toEqual(registry.primary ? [registry.primary] : []);
        expect(registry.primary === undefined).toBe(introduced.length === 0);
        if (introduced.some(({ isEnvoy }) => isEnvoy)) expect(registry.primary?.isEnvoy).toBe(true);
      }
    }),
  );
});
