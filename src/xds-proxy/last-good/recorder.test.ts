import { describe, expect, test } from "vitest";
import { ask, CDS, EDS, LDS, push, SECRET } from "../../../test/support/xds/harness.ts";
import { deltaDiscoveryResponse } from "../../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import type { Snapshot } from "./core/snapshot.ts";
import { Recorder } from "./recorder.ts";

function record(kind: XdsProtocol, snapshot: Snapshot = new Map(), maxPendingBytes = 1_000_000) {
  let [commits, overflows] = [0, 0];
  const recorder = new Recorder({
    kind,
    snapshot,
    maxPendingBytes,
    onCommit: () => {
      commits += 1;
    },
    onOverflow: () => {
      overflows += 1;
    },
  });
  return {
    recorder,
    asks: (typeUrl: string, options?: Parameters<typeof ask>[2]) =>
      recorder.onRequest(typeUrl, ask(kind, typeUrl, options)),
    gets: (typeUrl: string, names: readonly string[], options: Parameters<typeof push>[3] = {}) => {
      const bytes = push(kind, typeUrl, names, options);
      // Cut anywhere, as the network does.
      if (recorder.wants(typeUrl))
        recorder.onResponse(typeUrl, options.nonce ?? "n1", [bytes.subarray(0, 7), bytes.subarray(7)]);
    },
    names: (typeUrl: string) => [...(snapshot.get(typeUrl)?.resources.keys() ?? [])],
    versions: (typeUrl: string) => [...(snapshot.get(typeUrl)?.resources.values() ?? [])].map(({ version }) => version),
    commits: () => commits,
    overflows: () => overflows,
  };
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("a response counts once it is acknowledged, not when it is refused", () => {
    const stream = record(kind);
    stream.asks(CDS);
    stream.gets(CDS, ["a", "b"], { nonce: "1" });
    expect(stream.names(CDS)).toEqual([]);
    stream.asks(CDS, { nonce: "1" });
    expect(stream.names(CDS)).toEqual(["a", "b"]);
    stream.gets(CDS, ["c"], { nonce: "2" });
    stream.asks(CDS, { nonce: "2", nack: "no" });
    expect(stream.names(CDS)).toEqual(["a", "b"]);
    expect(stream.commits()).toBe(1);
  });

  test("an answer that overtakes the end of its response counts all the same, a refusal too", () => {
    const stream = record(kind);
    stream.asks(CDS);
    stream.asks(CDS, { nonce: "1" });
    expect(stream.commits()).toBe(0);
    stream.gets(CDS, ["a"], { nonce: "1" });
    expect(stream.names(CDS)).toEqual(["a"]);
    expect(stream.commits()).toBe(1);
    stream.asks(CDS, { nonce: "2", nack: "no" });
    stream.gets(CDS, ["b"], { nonce: "2" });
    stream.gets(CDS, ["a", "c"], { nonce: "3" });
    expect(stream.names(CDS)).toEqual(["a"]);
    stream.asks(CDS, { nonce: "3" });
    expect(stream.names(CDS).sort()).toEqual(["a", "c"]);
  });

  test("secrets and types that no one asked for are never retained", () => {
    const stream = record(kind);
    stream.asks(SECRET, { names: ["kubernetes://cert"] });
    stream.gets(SECRET, ["kubernetes://cert"]);
    stream.asks(SECRET, { names: ["kubernetes://cert"], nonce: "n1" });
    stream.gets(LDS, ["l"]);
    expect(stream.names(SECRET)).toEqual([]);
    expect(stream.recorder.wants(LDS)).toBe(false);
  });

  test("endpoints come in subsets that add up; names that are no longer asked for go", () => {
    const stream = record(kind);
    stream.asks(EDS, { names: ["a", "b"] });
    stream.gets(EDS, ["a", "b"], { nonce: "1" });
    stream.asks(EDS, { names: kind === "sotw" ? ["a", "b"] : [], nonce: "1" });
    stream.gets(EDS, ["b"], { nonce: "2", version: "v2" });
    stream.asks(EDS, { names: kind === "sotw" ? ["a", "b"] : [], nonce: "2" });
    expect(stream.names(EDS)).toEqual(["a", "b"]);
    expect(stream.versions(EDS)).toEqual(kind === "sotw" ? ["v1", "v2"] : ["v1-a", "v2-b"]);
    if (kind === "sotw") stream.asks(EDS, { names: ["b"], nonce: "2", version: "v2" });
    else stream.asks(EDS, { unsubscribe: ["a"] });
    expect(stream.names(EDS)).toEqual(["b"]);
  });

  test("what was there from before is replaced by the first whole answer of a new stream", () => {
    const snapshot: Snapshot = new Map();
    const before = record(kind, snapshot);
    before.asks(CDS);
    before.gets(CDS, ["old", "both"], { nonce: "1" });
    before.asks(CDS, { nonce: "1" });
    const after = record(kind, snapshot);
    after.asks(CDS);
    expect(after.names(CDS)).toEqual(["old", "both"]);
    after.gets(CDS, ["both", "new"], { nonce: "9" });
    after.asks(CDS, { nonce: "9" });
    expect(after.names(CDS)).toEqual(["both", "new"]);
  });

  test("too much that waits for its answer ends the recording", () => {
    const stream = record(kind, new Map(), 100);
    stream.asks(CDS);
    stream.gets(CDS, ["x".repeat(200)]);
    stream.asks(CDS, { nonce: "n1" });
    expect([stream.overflows(), stream.names(CDS), stream.recorder.wants(CDS)]).toEqual([1, [], false]);
  });

  test("a type of the agent itself is retained once, until it changes", () => {
    const stream = record(kind);
    for (const text of ["a", "a", "b"]) stream.recorder.onInternal("nds", "v", Buffer.from(text));
    expect(stream.commits()).toBe(2);
  });
});

test("sotw: a cluster that is missing from the next answer is gone", () => {
  const stream = record("sotw");
  stream.asks(CDS);
  stream.gets(CDS, ["a", "b"], { nonce: "1" });
  stream.asks(CDS, { nonce: "1" });
  stream.gets(CDS, ["b"], { nonce: "2" });
  stream.asks(CDS, { nonce: "2" });
  expect(stream.names(CDS)).toEqual(["b"]);
});

test("delta: removals are applied, and a client that comes back keeps what it says it has", () => {
  const snapshot: Snapshot = new Map();
  const stream = record("delta", snapshot);
  stream.asks(CDS);
  stream.gets(CDS, ["a", "b", "c"], { nonce: "1" });
  stream.asks(CDS, { nonce: "1" });
  stream.gets(CDS, ["d"], { nonce: "2", removed: ["a"] });
  stream.asks(CDS, { nonce: "2" });
  expect(stream.names(CDS)).toEqual(["b", "c", "d"]);
  const again = record("delta", snapshot);
  again.asks(CDS, { initial: { b: "1", d: "1" } });
  expect(again.names(CDS)).toEqual(["b", "d"]);
});

test("a delta resource without content renews what is there, and is nothing by itself", () => {
  const snapshot: Snapshot = new Map();
  const stream = record("delta", snapshot);
  stream.asks(CDS);
  stream.gets(CDS, ["a"], { nonce: "1" });
  stream.asks(CDS, { nonce: "1" });
  const before = snapshot.get(CDS)?.resources.get("a")?.any;
  const heartbeat = deltaDiscoveryResponse.encode({
    typeUrl: CDS,
    nonce: "2",
    resources: [{ name: "a" }, { name: "b" }],
  });
  stream.recorder.onResponse(CDS, "2", [heartbeat]);
  stream.asks(CDS, { nonce: "2" });
  expect(stream.names(CDS)).toEqual(["a"]);
  expect(snapshot.get(CDS)?.resources.get("a")?.any).toEqual(before);
});
