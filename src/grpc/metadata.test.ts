import type { OutgoingHttpHeaders } from "node:http2";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Metadata } from "./metadata.ts";

function sent(metadata: Metadata): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  metadata.copyTo(headers);
  return headers;
}

/** The flat list that the peer's node:http2 would report. */
function received(headers: OutgoingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((each) => [name, String(each)]));
}

test("names are found in any case, repeated names keep all values in order", () => {
  const metadata = Metadata.from({ "X-One": "a", "x-many": ["1", "2"] });
  metadata.append("x-ONE", "b");
  expect(metadata.get("X-one")).toBe("a");
  expect(metadata.getAll("x-one")).toEqual(["a", "b"]);
  expect([...metadata]).toEqual([
    ["x-one", "a"],
    ["x-one", "b"],
    ["x-many", "1"],
    ["x-many", "2"],
  ]);
  expect(sent(metadata)).toEqual({ "x-one": ["a", "b"], "x-many": ["1", "2"] });
});

test("set replaces, delete removes, merge adds", () => {
  const metadata = Metadata.from({ a: ["1", "2"], b: "3" }).set("a", "4");
  metadata.delete("b");
  metadata.merge(Metadata.from({ a: "5", c: "6" }));
  expect(sent(metadata)).toEqual({ a: ["4", "5"], c: "6" });
  expect(metadata.size).toBe(2);
});

test("binary values are sent as base64 without padding and read with or without it", () => {
  expect(sent(Metadata.from({ "x-bin": Buffer.from([1]) }))).toEqual({ "x-bin": "AQ" });
  for (const text of ["AQ", "AQ=="]) {
    expect(Metadata.fromRawHeaders(["x-bin", text]).getBinary("x-bin")).toEqual(Buffer.from([1]));
  }
});

test("binary values that a proxy joined with commas come apart again", () => {
  expect(Metadata.fromRawHeaders(["x-bin", "AQ, Ag,Aw=="]).getAll("x-bin")).toEqual([
    Buffer.from([1]),
    Buffer.from([2]),
    Buffer.from([3]),
  ]);
});

test("headers of the protocol are not metadata", () => {
  const raw = [":path", "/a/b", "te", "trailers", "content-type", "application/grpc", "grpc-timeout", "1S", "x", "y"];
  expect([...Metadata.fromRawHeaders(raw)]).toEqual([["x", "y"]]);
});

test.each([
  { name: "with space", value: "x", says: "has a name outside" },
  { name: "", value: "x", says: "has a name outside" },
  { name: ":path", value: "x", says: "has a name outside" },
  { name: "grpc-status", value: "0", says: "the protocol keeps for itself" },
  { name: "content-type", value: "text/html", says: "the protocol keeps for itself" },
  { name: "Connection", value: "close", says: "the protocol keeps for itself" },
  { name: "x-bin", value: "text", says: "takes bytes" },
  { name: "x", value: Buffer.from("bytes"), says: "takes text" },
  { name: "x", value: "line\nbreak", says: "outside printable ASCII" },
  { name: "x", value: "größe", says: "outside printable ASCII" },
])("$name with $value is refused: $says", ({ name, value, says }) => {
  expect(() => new Metadata().append(name, value)).toThrow(expect.objectContaining({ code: "invalid-metadata" }));
  expect(() => new Metadata().append(name, value)).toThrow(says);
});

test("a refused value is not printed: it may be a secret", () => {
  expect(() => new Metadata().append("authorization", "Bearer s3cret\n")).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining("s3cret") }),
  );
});

test("what is sent is what is received, for any values", () => {
  const name = fc.stringMatching(/^x-[a-z0-9_.]{0,8}$/).filter((each) => !each.endsWith("-bin"));
  const text = fc.tuple(name, fc.stringMatching(/^[\x20-\x7e]{0,20}$/));
  const bytes = fc.tuple(
    name.map((each) => `${each}-bin`),
    fc.uint8Array({ maxLength: 20 }).map((each) => Buffer.from(each)),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(text, bytes)), (entries) => {
      const metadata = new Metadata();
      for (const [each, value] of entries) metadata.append(each, value);
      expect([...Metadata.fromRawHeaders(received(sent(metadata)))]).toEqual([...metadata]);
    }),
  );
});
