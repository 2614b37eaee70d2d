import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeNameTable, encodeNameTable, type NameInfo } from "./name-table.ts";

/** Field number and bytes, the only wire type the message has. */
const field = (number: number, value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
};

const encodeInfo = ({ ips, registry = "", shortname = "", namespace = "", altHosts = [] }: NameInfo): Buffer =>
  Buffer.concat([
    ...ips.map((ip) => field(1, ip)),
    field(2, registry),
    field(3, shortname),
    field(4, namespace),
    ...altHosts.map((host) => field(5, host)),
  ]);

const entry = (host: string, info: NameInfo) => field(1, Buffer.concat([field(1, host), field(2, encodeInfo(info))]));

test("the bytes of a control plane become a table", () => {
  const productpage = {
    ips: ["9.9.9.9", "2001:db8::1"],
    registry: "Kubernetes",
    shortname: "productpage",
    namespace: "ns1",
    altHosts: ["productpage.example"],
  };
  const google = { ips: ["1.1.1.1"], registry: "External", shortname: "", namespace: "", altHosts: [] };
  const bytes = Buffer.concat([
    entry("productpage.ns1.svc.cluster.local", productpage),
    entry("www.google.com", google),
  ]);
  expect(decodeNameTable(bytes).table).toEqual({
    "productpage.ns1.svc.cluster.local": productpage,
    "www.google.com": google,
  });
});

test("no bytes are an empty table", () => {
  expect(decodeNameTable(Buffer.alloc(0)).table).toEqual({});
});

test("a host may have the name of an object's property", () => {
  const { table } = decodeNameTable(entry("__proto__", { ips: ["1.1.1.1"] }));
  expect(Object.keys(table)).toEqual(["__proto__"]);
});

test("of two entries with one key the last counts, and fields no one knows are skipped", () => {
  const unknown = Buffer.from([0x38, 0x05, 0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0x4d, 0, 0, 0, 0]);
  const bytes = Buffer.concat([entry("a", { ips: ["1.1.1.1"] }), unknown, entry("a", { ips: ["2.2.2.2"] })]);
  expect(decodeNameTable(bytes).table.a?.ips).toEqual(["2.2.2.2"]);
});

describe("bytes that are not a table", () => {
  test.each([
    { what: "a length beyond the end", bytes: Buffer.from([0x0a, 0x7f, 0x00]) },
    { what: "a cut varint", bytes: Buffer.from([0x0a, 0x80]) },
    { what: "field number 0", bytes: Buffer.from([0x02, 0x00]) },
    { what: "a wire type that does not exist", bytes: Buffer.from([0x0f]) },
    { what: "a host that is not UTF-8", bytes: field(1, field(1, Buffer.from([0xff, 0xfe]))) },
  ])("$what is a coded error, in words that whoever asked puts its own in front of", ({ bytes }) => {
    expect(() => decodeNameTable(bytes)).toThrowError(
      expect.objectContaining({
        code: "invalid-name-table",
        message: expect.stringMatching(/^(protobuf: |string field contains invalid UTF-8)/),
      }),
    );
  });

  test("random ones give a table or that error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decodeNameTable(bytes);
        } catch (failure) {
          expect(failure).toMatchObject({ code: "invalid-name-table" });
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("encodeNameTable", () => {
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
    expect(decodeNameTable(bytes).table.a).toEqual({
      ips: [],
      registry: "",
      shortname: "",
      namespace: "",
      altHosts: [],
    });
  });
});
