import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalName, escapedName, isAtOrBelow, parentName, skipName, writeName } from "./name.ts";

describe("the canonical spelling", () => {
  test.each([
    { text: "a.b.c", name: "a.b.c." },
    { text: "a.b.c.", name: "a.b.c." },
    { text: "WWW.Example.ORG", name: "www.example.org." },
    { text: "*.wildcard", name: "*.wildcard." },
    { text: "", name: "." },
    { text: ".", name: "." },
    { text: "a\\.b.c", name: "a\\.b.c." },
    { text: "a\\046b.c", name: "a\\.b.c." },
    { text: "tab\\009.c", name: "tab\\009.c." },
    { text: "bücher.example", name: "b\\195\\188cher.example." },
    { text: "ÀB.example", name: "\\195\\128b.example." },
    { text: "two words.c", name: "two\\032words.c." },
  ])("of $text is $name", ({ text, name }) => {
    expect(canonicalName(text)).toBe(name);
    expect(canonicalName(name)).toBe(name);
  });

  test("of any labels survives the wire", () => {
    const label = fc.uint8Array({ minLength: 1, maxLength: 63 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
    fc.assert(
      fc.property(fc.array(label, { maxLength: 3 }), (labels) => {
        const name = escapedName(labels);
        const out = Buffer.alloc(255);
        const end = writeName(out, 0, name);
        const lower = labels.map((text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
        const wire = Buffer.concat([
          ...lower.map((text) => Buffer.from(`${String.fromCharCode(text.length)}${text}`, "latin1")),
          Buffer.of(0),
        ]);
        expect(out.subarray(0, end)).toEqual(wire);
        expect(canonicalName(name)).toBe(name);
        expect(skipName(out, 0)).toBe(end);
      }),
    );
  });
});

describe("writing a name", () => {
  const out = Buffer.alloc(300);

  test("the root is one zero byte", () => {
    expect(writeName(out, 5, ".")).toBe(6);
    expect(out[5]).toBe(0);
  });

  test.each([
    { what: "an empty label", name: "a..b." },
    { what: "a leading dot", name: ".a." },
    { what: "a label of 64 bytes", name: `${"a".repeat(64)}.` },
    { what: "more than 255 bytes", name: `${"a".repeat(49)}.`.repeat(6) },
  ])("$what has no wire form", ({ name }) => {
    expect(writeName(out, 0, name)).toBe(-1);
  });

  test("255 bytes are the most", () => {
    const longest = `${`${"a".repeat(63)}.`.repeat(3)}${"a".repeat(61)}.`;
    expect(writeName(out, 0, longest)).toBe(255);
    expect(writeName(out, 0, `a${longest}`)).toBe(-1);
  });
});

test.each([
  { name: "a.b.c.", parent: "b.c." },
  { name: "c.", parent: "" },
  { name: "a\\.b.c.", parent: "c." },
  { name: "a\\\\.b.c.", parent: "b.c." },
])("the parent of $name is '$parent'", ({ name, parent }) => {
  expect(parentName(name)).toBe(parent);
});

test.each([
  { name: "a.b.c.", suffix: "b.c.", is: true },
  { name: "b.c.", suffix: "b.c.", is: true },
  { name: "ab.c.", suffix: "b.c.", is: false },
  { name: "a\\.b.c.", suffix: "b.c.", is: false },
  { name: "c.", suffix: "b.c.", is: false },
])("$name at or below $suffix: $is", ({ name, suffix, is }) => {
  expect(isAtOrBelow(name, suffix)).toBe(is);
});

describe("skipping a name", () => {
  test.each([
    { what: "a plain name", bytes: [1, 97, 0, 9], at: 0, end: 3 },
    { what: "a pointer to an earlier byte", bytes: [0, 0xc0, 0], at: 1, end: 3 },
    { what: "a pointer to itself", bytes: [0xc0, 0], at: 0, end: -1 },
    { what: "a pointer to its own label", bytes: [0, 1, 97, 0xc0, 1], at: 1, end: -1 },
    { what: "a pointer ahead", bytes: [0xc0, 5, 0, 0, 0, 0], at: 0, end: -1 },
    { what: "half a pointer", bytes: [0, 0xc0], at: 1, end: -1 },
    { what: "a label beyond the end", bytes: [5, 97], at: 0, end: -1 },
    { what: "a name without end", bytes: [1, 97], at: 0, end: -1 },
    { what: "a label type no one uses", bytes: [0x40, 0], at: 0, end: -1 },
    { what: "nothing", bytes: [], at: 0, end: -1 },
  ])("$what ends at $end", ({ bytes, at, end }) => {
    expect(skipName(Buffer.from(bytes), at)).toBe(end);
  });
});
