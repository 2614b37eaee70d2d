import fc from "fast-check";
import { expect, test } from "vitest";
import { createFraming, parseHead } from "./framing.ts";

/** The body found in `pieces`, and whether its end was seen. */
function read(headers: Record<string, string>, pieces: readonly string[], endsWith = false, status = 200) {
  let body = "";
  let ends = 0;
  const head = { status, headers: new Map(Object.entries(headers)), length: 0 };
  const framing = createFraming(head, {
    data(bytes) {
      body += bytes.toString("latin1");
    },
    end() {
      ends++;
    },
  });
  for (const piece of pieces) framing.push(Buffer.from(piece, "latin1"));
  if (endsWith) framing.end();
  return { body, isEnded: ends > 0 };
}
const CHUNKED = { "transfer-encoding": "chunked" };

test("heads", () => {
  const text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nContent-Length:  3 \r\na: c\r\n\r\nxyz";
  const head = parseHead(Buffer.from(text));
  expect(head).toMatchObject({ status: 200, length: text.length - 3 });
  expect(typeof head === "string" ? [] : [...head.headers]).toEqual([
    ["a", "b"],
    ["content-length", "3"],
  ]);
  expect(parseHead(Buffer.from("HTTP/1.1 200 OK\r\nA: b\r\n"))).toBe("incomplete");
  for (const bad of [
    "SSH-2.0\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 200\r\nno colon\r\n\r\n",
    "HTTP/1.1 abc OK\r\n\r\n",
  ])
    expect(parseHead(Buffer.from(bad))).toBe("malformed");
});

test.each([
  { headers: { "content-length": "3" }, pieces: ["ab", "cd"], want: { body: "abc", isEnded: true } },
  { headers: { "content-length": "3" }, pieces: ["ab"], want: { body: "ab", isEnded: false } },
  { headers: {}, pieces: ["ab", "cd"], want: { body: "abcd", isEnded: false } },
  { headers: CHUNKED, pieces: ["3\r\nabc\r\n", "0\r\n\r\n"], want: { body: "abc", isEnded: true } },
  {
    headers: CHUNKED,
    pieces: ["A;x=y\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n"],
    want: { body: "0123456789", isEnded: true },
  },
  { headers: CHUNKED, pieces: ["3\r\nab"], want: { body: "ab", isEnded: false } },
])("$headers $pieces", ({ headers, pieces, want }) => {
  expect(read(headers as Record<string, string>, pieces)).toEqual(want);
});

test.each([
  "HTTP/1.1 200 OK\nA: b\n\n",
  "HTTP/1.0 200\r\nA: b\n\r\n",
  "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nA: b\r\n\n",
])("%j is a head, as lines may end without a carriage return", (text) => {
  const head = parseHead(Buffer.from(`${text}xyz`));
  expect(head).toMatchObject({ status: 200, length: text.length });
  expect(typeof head === "string" ? [] : [...head.headers]).toEqual([["a", "b"]]);
  for (let cut = 0; cut < text.length; cut++)
    expect(parseHead(Buffer.from(text.slice(0, cut))), text.slice(0, cut)).toBe("incomplete");
});

test("a trailer without end is not collected", () => {
  const endless = function* () {
    yield "0\r\nTrailer: ";
    for (let pieces = 0; pieces < 1_000; pieces++) yield "x".repeat(1_000);
  };
  expect(() => read(CHUNKED, [...endless()])).toThrow(expect.objectContaining({ code: "malformed-chunk" }));
});

test("without a length the connection's end is the body's; with one it is a break", () => {
  expect(read({}, ["a"], true).isEnded).toBe(true);
  expect(read({ "content-length": "2" }, ["a"], true).isEnded).toBe(false);
  expect(read(CHUNKED, ["1\r\na\r\n"], true).isEnded).toBe(false);
});

test.each(["x\r\n", "3\r\nabcd\r\n", "-1\r\n", `${"0".repeat(300)}`, "99999999999999\r\n"])(
  "%j is not a chunk",
  (text) => {
    expect(() => read(CHUNKED, [text])).toThrow(expect.objectContaining({ code: "malformed-chunk" }));
  },
);

test("chunks are found however the bytes arrive", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme-ascii", minLength: 1 })), fc.array(fc.nat(9)), (chunks, cuts) => {
      let rest = `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")}0\r\n\r\n`;
      const pieces: string[] = [];
      for (const cut of cuts) {
        pieces.push(rest.slice(0, cut));
        rest = rest.slice(cut);
      }
      expect(read(CHUNKED, [...pieces, rest])).toEqual({ body: chunks.join(""), isEnded: true });
    }),
  );
});
