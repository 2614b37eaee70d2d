import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Snapshot } from "./snapshot.ts";
import { decodeSnapshotFile, encodeSnapshotFile } from "./snapshot-file.ts";

const resource = fc.record({
  version: fc.string(),
  any: fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes)),
});
const snapshots: fc.Arbitrary<Snapshot> = fc
  .dictionary(
    fc.string({ minLength: 1 }),
    fc.record({ version: fc.string(), resources: fc.dictionary(fc.string(), resource) }),
  )
  .map(
    (types) =>
      new Map(
        Object.entries(types).map(([typeUrl, { version, resources }]) => [
          typeUrl,
          { version, resources: new Map(Object.entries(resources)) },
        ]),
      ),
  );

test("what is written is read again", () => {
  fc.assert(
    fc.property(snapshots, fc.string(), fc.nat(), (snapshot, nodeId, savedAt) => {
      expect(decodeSnapshotFile(encodeSnapshotFile({ nodeId, savedAt, snapshot }), nodeId)).toEqual({
        nodeId,
        savedAt,
        snapshot,
      });
    }),
  );
});

describe("what cannot be used is refused with its reason", () => {
  const good = encodeSnapshotFile({
    nodeId: "me",
    savedAt: 1,
    snapshot: new Map([["t", { version: "1", resources: new Map([["a", { version: "1", any: Buffer.from("x") }]]) }]]),
  });

  test.each([
    { what: "an empty file", file: Buffer.alloc(0), code: "foreign" },
    { what: "another program's file", file: Buffer.from("{}"), code: "foreign" },
    { what: "a file cut short", file: good.subarray(0, good.length - 3), code: "damaged" },
    { what: "nothing but the mark", file: good.subarray(0, 30), code: "damaged" },
  ])("$what: $code", ({ file, code }) => {
    expect(() => decodeSnapshotFile(file, "me")).toThrow(expect.objectContaining({ code }));
  });

  test("a single flipped bit anywhere", () => {
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(7), (at, bit) => {
        const bad = Buffer.from(good);
        bad[at] = (bad[at] ?? 0) ^ (1 << bit);
        expect(() => decodeSnapshotFile(bad, "me")).toThrow();
      }),
    );
  });

  test("another node's file", () => {
    expect(() => decodeSnapshotFile(good, "you")).toThrow("it belongs to node me");
  });
});

test("credentials that an earlier version has written down are not taken over", () => {
  const entry = Buffer.concat([
    Buffer.from([0x12, 43, 0x0a, 33]),
    Buffer.from("ISTIO_META_WASM_IMAGE_PULL_SECRET"),
    Buffer.from([0x12, 6]),
    Buffer.from("secret"),
  ]);
  const snapshot: Snapshot = new Map([
    ["t", { version: "1", resources: new Map([["r", { version: "1", any: entry }]]) }],
  ]);
  const file = encodeSnapshotFile({ nodeId: "me", savedAt: 1, snapshot });
  const read = decodeSnapshotFile(file, "me").snapshot.get("t")?.resources.get("r")?.any;
  expect(read?.toString("latin1")).toBe(entry.toString("latin1").replace("secret", "xxxxxx"));
});
