import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildTar } from "../../../test/support/oci/archive.ts";
import { WasmError } from "../wasm-error.ts";
import { isTar, tarEntries } from "./tar-entries.ts";

const names = (archive: Buffer) => [...tarEntries(archive)].map(({ name }) => name);
const content = Buffer.from("content");

test("regular files come with their content, folders and links are left out", () => {
  const archive = buildTar([
    { name: "dir/", type: "5" },
    { name: "link", type: "2" },
    { name: "dir/a", data: content },
    { name: "old", data: content, type: "\0" },
  ]);
  expect(isTar(archive)).toBe(true);
  expect([...tarEntries(archive)].map(({ name, data }) => [name, data.toString()])).toEqual([
    ["dir/a", "content"],
    ["old", "content"],
  ]);
});

test("long names of both kinds are read: extended headers and GNU's", () => {
  const long = `${"d".repeat(120)}/plugin.wasm`;
  const record = ` path=${long}\n`;
  const pax = Buffer.from(`${record.length + 3}${record}`);
  expect(
    names(
      buildTar([
        { name: "PaxHeader", type: "x", data: pax },
        { name: "short", data: content },
      ]),
    ),
  ).toEqual([long]);
  const gnu = { name: "././@LongLink", type: "L", data: Buffer.from(`${long}\0`) };
  expect(names(buildTar([gnu, { name: "short", data: content }, { name: "next", data: content }]))).toEqual([
    long,
    "next",
  ]);
});

test("a size in bytes instead of digits is read", () => {
  const archive = buildTar([{ name: "a", data: content }]);
  archive.fill(0, 124, 136);
  archive[124] = 0x80;
  archive[135] = content.length;
  archive.write("        ", 148);
  const sum = archive.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  archive.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  expect([...tarEntries(archive)][0]?.data.toString()).toBe("content");
});

test.each([
  { what: "claims more than there is", archive: buildTar([{ name: "a", data: content, claimedSize: 8 ** 10 }]) },
  { what: "has a wrong checksum", archive: Buffer.from(buildTar([{ name: "a" }])).fill("b", 0, 1) },
  { what: "is cut short", archive: buildTar([{ name: "a", data: content }]).subarray(0, 515) },
  { what: "ends in a header", archive: buildTar([{ name: "a", data: content }]).subarray(0, 100) },
  {
    what: "has a malformed extended header",
    archive: buildTar([{ name: "x", type: "x", data: Buffer.from("99 path=a\n") }]),
  },
  { what: "is empty", archive: Buffer.alloc(0) },
])("an archive that $what is refused", ({ archive }) => {
  expect(() => names(archive)).toThrow(WasmError);
});

test("whatever is in an archive comes out of it", () => {
  const member = fc.record({
    name: fc.stringMatching(/^[a-z]{1,99}$/),
    data: fc.uint8Array({ maxLength: 1500 }).map((array) => Buffer.from(array)),
  });
  fc.assert(
    fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), (members) => {
      expect([...tarEntries(buildTar(members))]).toEqual(members);
    }),
  );
});

test("damaged archives end in entries or a coded error, never in another throw or a hang", () => {
  const archive = buildTar([
    { name: "PaxHeader", type: "x", data: Buffer.from("12 path=abc\n") },
    { name: "a", data: content },
    { name: "b", data: content },
  ]);
  const damage = fc.array(fc.tuple(fc.nat(archive.length - 1), fc.nat(255)), { maxLength: 6 });
  fc.assert(
    fc.property(damage, fc.nat(archive.length), (edits, length) => {
      const damaged = Buffer.from(archive);
      for (const [at, byte] of edits) damaged[at] = byte;
      try {
        names(damaged.subarray(0, length));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WasmError);
      }
    }),
    { numRuns: 1000 },
  );
});

describe("an archive that would keep its reader busy", () => {
  const MIB = 1024 * 1024;
  const attributes = (bytes: number) => ({ name: "x", type: "x", data: Buffer.alloc(bytes - (bytes % 5), "5 a=\n") });

  test.each([
    { what: "one huge extended header", archive: buildTar([attributes(2 * MIB), { name: "a", data: content }]) },
    { what: "a huge name", archive: buildTar([{ name: "x", type: "L", data: Buffer.alloc(2 * MIB, "n") }]) },
    { what: "many large extended headers", archive: buildTar(Array.from({ length: 10 }, () => attributes(MIB))) },
    {
      what: "nothing but folders",
      archive: Buffer.concat(Array(100_001).fill(buildTar([{ name: "d/", type: "5" }]).subarray(0, 512))),
    },
  ])("with $what is refused at once", ({ archive }) => {
    expect(() => names(archive)).toThrow(WasmError);
  });

  test("is another one than a file system with long names and attributes", () => {
    const record = ` path=${"d".repeat(150)}/file\n`;
    const pax = { name: "PaxHeader", type: "x", data: Buffer.from(`${record.length + 3}${record}`) };
    const archive = buildTar(Array.from({ length: 5000 }, () => [pax, { name: "short", data: content }]).flat());
    expect(names(archive)).toHaveLength(5000);
  });
});
