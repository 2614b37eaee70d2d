import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { decodeList, decodeStatus } from "./envelope.ts";
import { shape } from "./message-shape.ts";
import { decodeEvent, frames } from "./read-frames.ts";

const POD = shape({
  metadata: [
    1,
    shape({ name: [1, "text"], resourceVersion: [6, "text"], labels: [11, "labels"], created: [8, "time"] }),
  ],
  spec: [2, shape({ port: [4, "int-or-text"], names: [5, "texts"], isUp: [6, "bool"], count: [7, "number"] })],
});
const asIs = (text: string) => text;

function message(...members: readonly (readonly [number, string | number | Buffer])[]): Buffer {
  const writer = new WireWriter();
  for (const [number, value] of members) {
    if (typeof value === "string") writer.string(number, value);
    else if (typeof value === "number") writer.uint32(number, value);
    else writer.bytes(number, value);
  }
  return writer.finish();
}
const label = (key: string, value: string) => message([1, key], [2, value]);
const envelope = (kind: string, raw: Buffer) =>
  Buffer.concat([Buffer.from("k8s\0"), message([1, message([1, "v1"], [2, kind])], [2, raw], [3, ""], [4, ""])]);
const framed = (bytes: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const event = (type: string, object: Buffer) => message([1, type], [2, message([1, object])]);

const meta = message(
  [1, "web-0"],
  [4, "not read"],
  [6, "17"],
  [8, message([1, 1_700_000_000])],
  [11, label("app", "web")],
  [11, label("__proto__", "x")],
);
const spec = message([1, "not read"], [4, message([1, 1], [3, "http"])], [5, "a"], [5, "b"], [6, 1], [7, 3], [99, 5]);
const pod = envelope("Pod", message([1, meta], [2, spec], [3, message([1, "Running"])]));
const decoded = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-0", resourceVersion: "17", created: "2023-11-14T22:13:20Z" },
  spec: { port: "http", names: ["a", "b"], isUp: true, count: 3 },
};

test("an event has what the shape says of its object, in the form of JSON, and nothing else", () => {
  const { type, object } = decodeEvent(event("ADDED", pod), POD, asIs);
  const { metadata, ...rest } = object as { readonly metadata: { readonly labels: object } };
  const { labels, ...others } = metadata;
  expect({ type, ...rest, metadata: others }).toEqual({ type: "ADDED", ...decoded });
  expect(Object.entries(labels)).toEqual([
    ["app", "web"],
    ["__proto__", "x"],
  ]);
});

test("a page of a list has its version, its next page and its items", () => {
  const items = [message([1, message([1, "a"])]), message([1, message([1, "b"])])];
  const list = envelope(
    "PodList",
    message([1, message([2, "9"], [3, "more"])], ...items.map((item) => [2, item] as const)),
  );
  expect(decodeList(list, POD, asIs)).toEqual({
    apiVersion: "v1",
    kind: "PodList",
    metadata: { resourceVersion: "9", continue: "more" },
    items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }],
  });
});

test("a failure says its code, reason and message, in an answer and in an event", () => {
  const raw = message([3, "too old"], [4, "Expired"], [5, message([4, message([1, "Why"])], [5, 7])], [6, 410]);
  const status = envelope("Status", raw);
  const expected = {
    kind: "Status",
    message: "too old",
    reason: "Expired",
    code: 410,
    details: { causes: [{ reason: "Why" }], retryAfterSeconds: 7 },
  };
  expect(decodeStatus(status)).toEqual(expected);
  expect(decodeEvent(event("ERROR", status), POD, asIs)).toEqual({ type: "ERROR", object: expected });
  expect(decodeStatus(Buffer.from("<html>"))).toBeUndefined();
});

test("frames are the same however the stream is cut, and one that is not complete at its end is dropped", async () => {
  const all = [event("ADDED", pod), Buffer.alloc(0), event("DELETED", pod)];
  const stream = Buffer.concat([...all.map(framed), framed(pod).subarray(0, 20)]);
  for (const size of [1, 3, 4, 7, 64, stream.length]) {
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, at) =>
      stream.subarray(at * size, (at + 1) * size),
    );
    const found: Buffer[] = [];
    for await (const frame of frames(Readable.from(chunks))) found.push(Buffer.from(frame));
    expect(found).toEqual(all);
  }
});

test.each([
  { what: "no object of Kubernetes", frame: event("ADDED", Buffer.from("{}")) },
  { what: "an object that is cut short", frame: event("ADDED", pod.subarray(0, -8)) },
  { what: "no message", frame: Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) },
])("$what is an error", ({ frame }) => {
  expect(() => decodeEvent(frame, POD, asIs)).toThrow();
});
