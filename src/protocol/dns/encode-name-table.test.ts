import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeNameTable } from "./encode-name-table.ts";
import { decodeNameTable, type NameInfo } from "./name-table-message.ts";

const text = fc.string({ unit: "grapheme", maxLength: 300 });
const info: fc.Arbitrary<NameInfo> = fc.record({
  ips: fc.array(text, { maxLength: 5 }),
  registry: text,
  shortname: text,
  namespace: text,
  altHosts: fc.array(text, { maxLength: 3 }),
});

test("every table comes back from its bytes as it was", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, info)), (entries) => {
      const table: Record<string, NameInfo> = Object.assign(Object.create(null), Object.fromEntries(entries));
      expect(decodeNameTable(encodeNameTable({ table })).table).toEqual(table);
    }),
  );
});

test("absent fields take no bytes and come back empty", () => {
  const bytes = encodeNameTable({ table: { a: { ips: [] } } });
  expect(bytes.toString("hex")).toBe("0a050a01611200");
  expect(decodeNameTable(bytes).table.a).toEqual({ ips: [], registry: "", shortname: "", namespace: "", altHosts: [] });
});
