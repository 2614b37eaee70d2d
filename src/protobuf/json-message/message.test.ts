import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { MESH_CONFIG } from "../../istio-api/mesh-config/mesh-config-table.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { LEGACY_PROXY_CONFIG, PROXY_CONFIG } from "../../istio-api/proxy-config/proxy-config-table.ts";
import { formatProtoDuration, parseProtoDuration } from "../proto-duration.ts";
import { decodeMessage } from "./decode-message.ts";
import { decodeNumber } from "./decode-number.ts";
import { mergeMessage } from "./merge-message.ts";
import {
  type Field,
  field,
  isEnum,
  isMessage,
  list,
  type MessageTable,
  map,
  oneof,
  protoName,
  wrapper,
} from "./message-table.ts";
import { printMessage, pruneMessage } from "./print-message.ts";

const INNER: MessageTable = {
  fullName: "t.Inner",
  fields: [field("aName", 1, "string"), field("on", 2, "bool", wrapper)],
};
const COLOR = { fullName: "t.Color", values: { RED: 0, BLUE: 5 } };
const OUTER: MessageTable = {
  fullName: "t.Outer",
  fields: [
    field("someText", 1, "string"),
    field("inner", 2, INNER),
    field("innerList", 3, INNER, list),
    field("innerMap", 4, INNER, map),
    field("color", 5, COLOR),
    field("colors", 6, COLOR, list),
    field("free", 7, "struct"),
    field("odd", 8, "bool", { protoName: "ODD_one" }),
    ...oneof("choice", field("left", 9, "string"), field("right", 10, INNER)),
    field("big", 11, "int64"),
    field("when", 12, "duration"),
  ],
};

describe("decoding", () => {
  test.each([
    { json: { someText: "x" }, gives: { someText: "x" } },
    { json: { some_text: "x" }, gives: { someText: "x" } },
    { json: { ODD_one: true }, gives: { odd: true } },
    { json: { inner: {} }, gives: { inner: {} } },
    { json: { inner: { a_name: "x", on: null } }, gives: { inner: { aName: "x" } } },
    { json: { innerList: [{}, null, { on: false }] }, gives: { innerList: [{}, {}, { on: false }] } },
    { json: { innerMap: { k: { on: true }, n: null } }, gives: { innerMap: { k: { on: true }, n: {} } } },
    { json: { color: 5, colors: ["RED", 5, 7, null] }, gives: { color: "BLUE", colors: ["RED", "BLUE", 7, "RED"] } },
    { json: { free: { any: [1, { b: null }] } }, gives: { free: { any: [1, { b: null }] } } },
    { json: { left: "l", right: {} }, gives: { right: {} } },
    { json: { right: {}, left: "l" }, gives: { right: {} } },
    { json: { big: "9223372036854775807" }, gives: { big: "9223372036854775807" } },
    { json: { when: "1h1ms" }, gives: { when: "3600.001s" } },
    { json: { when: "100ns" }, gives: { when: "0.000000100s" } },
  ])("$json", ({ json, gives }) => {
    expect(decodeMessage(OUTER, json)).toEqual({ fields: gives, problems: [], unknown: [] });
  });

  test.each([
    { json: { inner: { aName: 1 } }, path: "inner.aName" },
    { json: { innerList: [{}, { on: 1 }] }, path: "innerList[1].on" },
    { json: { innerMap: { k: [] } }, path: "innerMap.k" },
    { json: { colors: ["GREEN"] }, path: "colors[0]" },
    { json: { big: "9223372036854775808" }, path: "big" },
    { json: { right: "x" }, path: "right" },
    { json: { when: "soon" }, path: "when" },
  ])("$json is refused at $path and that field stays out", ({ json, path }) => {
    const { fields, problems } = decodeMessage(OUTER, json);
    expect(problems.map((problem) => problem.path)).toEqual([path]);
    expect(fields).toEqual({});
  });

  test("inherited names are no fields", () => {
    const { fields, unknown } = decodeMessage(OUTER, JSON.parse('{"__proto__":{"someText":"x"},"constructor":1}'));
    expect(fields).toEqual({});
    expect(unknown).toEqual(["__proto__", "constructor"]);
  });
});

test.each([
  { type: "int32", json: 2147483647, gives: { value: 2147483647 } },
  {
    type: "int32",
    json: 2147483648,
    gives: { problem: "json: cannot unmarshal number 2147483648 into Go value of type int32" },
  },
  { type: "int32", json: "-5", gives: { value: -5 } },
  { type: "int32", json: "null", gives: { value: 0 } },
  { type: "int32", json: "true", gives: { problem: "json: cannot unmarshal bool into Go value of type int32" } },
  { type: "int32", json: "", gives: { problem: "unexpected end of JSON input" } },
  { type: "int32", json: [], gives: { problem: "json: cannot unmarshal array into Go value of type int32" } },
  { type: "uint32", json: 4294967295, gives: { value: 4294967295 } },
  { type: "uint32", json: -1, gives: { problem: "json: cannot unmarshal number -1 into Go value of type uint32" } },
  { type: "int64", json: 5, gives: { value: "5" } },
  { type: "int64", json: null, gives: { value: "0" } },
  { type: "int64", json: 9007199254740993n, gives: { value: "9007199254740993" } },
  { type: "int64", json: "9007199254740993", gives: { value: "9007199254740993" } },
  {
    type: "int64",
    json: 9223372036854775808n,
    gives: { problem: "json: cannot unmarshal number 9223372036854775808 into Go value of type int64" },
  },
  {
    type: "int32",
    json: 9007199254740993n,
    gives: { problem: "json: cannot unmarshal number 9007199254740993 into Go value of type int32" },
  },
  { type: "double", json: 2n ** 60n, gives: { value: 2 ** 60 } },
  { type: "double", json: "1.5", gives: { value: 1.5 } },
  { type: "double", json: "Infinity", gives: { value: Number.POSITIVE_INFINITY } },
  { type: "double", json: {}, gives: { problem: "json: cannot unmarshal object into Go value of type float64" } },
] as const)("$json as $type", ({ type, json, gives }) => expect(decodeNumber(type, json)).toEqual(gives));

test("a duration survives the way to its text and back", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nanoseconds) => {
      const text = formatProtoDuration(nanoseconds);
      expect(text).toMatch(/^-?\d+(?:\.(?:\d{3}){1,3})?s$/);
      expect(parseProtoDuration(text)).toBe(nanoseconds);
    }),
  );
  expect(() => parseProtoDuration("1m")).toThrow(RangeError);
});

test("a merge takes whole fields and clears the other members of a oneof", () => {
  const base = Object.freeze({ someText: "a", left: "l", inner: { aName: "x" } });
  expect(mergeMessage(OUTER, base, { right: {}, inner: {} })).toEqual({ someText: "a", right: {}, inner: {} });
  expect(mergeMessage(OUTER, base, {})).toEqual(base);
});

describe("tables", () => {
  test.each([PROXY_CONFIG, LEGACY_PROXY_CONFIG, MESH_CONFIG])(
    "$fullName has each name and number once, at every depth",
    (table) => {
      const visit = ({ fullName, fields }: MessageTable) => {
        const names = fields.flatMap((entry) => [...new Set([entry.name, protoName(entry)])]);
        const numbers = fields.map((entry) => entry.number);
        expect([fullName, names.length]).toEqual([fullName, new Set(names).size]);
        expect([fullName, numbers.length]).toEqual([fullName, new Set(numbers).size]);
        for (const { type } of fields) if (isMessage(type)) visit(type);
      };
      visit(table);
    },
  );

  test("the ProxyConfig table and the ProxyConfig type name the same fields", () => {
    // The compiler complains here when the type has a field more or less.
    const typed: Record<keyof ProxyConfig, number> = {
      configPath: 1,
      binaryPath: 2,
      serviceCluster: 3,
      drainDuration: 4,
      parentShutdownDuration: 5,
      discoveryAddress: 6,
      discoveryRefreshDelay: 7,
      zipkinAddress: 8,
      statsdUdpAddress: 10,
      proxyAdminPort: 11,
      availabilityZone: 12,
      controlPlaneAuthPolicy: 13,
      customConfigFile: 14,
      statNameLength: 15,
      concurrency: 16,
      proxyBootstrapTemplatePath: 17,
      interceptionMode: 18,
      tracing: 19,
      envoyMetricsServiceAddress: 20,
      sds: 21,
      envoyAccessLogService: 22,
      envoyMetricsService: 23,
      proxyMetadata: 24,
      statusPort: 26,
      extraStatTags: 27,
      gatewayTopology: 28,
      terminationDrainDuration: 29,
      meshId: 30,
      readinessProbe: 31,
      proxyStatsMatcher: 32,
      holdApplicationUntilProxyStarts: 33,
      caCertificatesPem: 34,
      image: 35,
      tracingServiceName: 36,
      runtimeValues: 37,
      privateKeyProvider: 38,
      proxyHeaders: 39,
      fileFlushInterval: 40,
      fileFlushMinSizeKb: 41,
      statsCompression: 42,
      connectionSettings: 43,
    };
    expect(Object.fromEntries(LEGACY_PROXY_CONFIG.fields.map(({ name, number }) => [name, number]))).toEqual(typed);
  });
});

describe("any message of the tables", () => {
  test.each([LEGACY_PROXY_CONFIG, MESH_CONFIG, OUTER])(
    "$fullName decodes without a problem and reads back from its own print",
    async (table) => {
      await fc.assert(
        fc.asyncProperty(arbitraryMessage(table, 3), async (document) => {
          const { fields, problems, unknown } = decodeMessage(table, document);
          expect(problems).toEqual([]);
          expect(unknown).toEqual([]);
          const printed = await parseYaml(printMessage(table, fields));
          expect(decodeMessage(table, printed)).toEqual({
            fields: pruneMessage(table, fields),
            problems: [],
            unknown: [],
          });
        }),
        { numRuns: 60 },
      );
    },
  );
});

/** Documents that use some fields of the table, by either of their names. */
function arbitraryMessage(table: MessageTable, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const usable = table.fields.filter((entry) => depth > 0 || !isMessage(entry.type));
  const member = (entry: Field) =>
    fc
      .tuple(fc.constantFrom(entry.name, protoName(entry)), arbitraryField(entry, depth))
      .map(([key, value]) => ({ [key]: value }));
  return fc
    .subarray([...usable], { maxLength: Math.min(4, usable.length) })
    .chain((chosen) => fc.tuple(...chosen.map(member)))
    .map((members) => Object.assign({}, ...members));
}

function arbitraryField(entry: Field, depth: number): fc.Arbitrary<unknown> {
  const one = arbitraryValue(entry, depth);
  if (entry.label === "list") return fc.array(one, { maxLength: 3 });
  if (entry.label === "map") return fc.dictionary(fc.stringMatching(/^[a-z]{1,3}x$/), one, { maxKeys: 3 });
  return one;
}

function arbitraryValue({ type }: Field, depth: number): fc.Arbitrary<unknown> {
  if (isMessage(type)) return arbitraryMessage(type, depth - 1);
  if (isEnum(type)) return fc.constantFrom(...Object.keys(type.values));
  switch (type) {
    case "string":
      return fc.oneof(fc.string(), fc.constantFrom("yes", "1", "", "a: b", "[::1]:1", "x\ny\n", " x"));
    case "bool":
      return fc.boolean();
    case "int32":
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    case "uint32":
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    case "int64":
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
    case "double":
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value));
    case "duration":
      return fc.integer({ min: 0, max: 10 ** 9 }).map((milliseconds) => `${milliseconds}ms`);
    case "struct":
      return fc.constantFrom({ a: [1, "x"] }, { b: { c: true } });
  }
}
