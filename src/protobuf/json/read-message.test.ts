import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraryMessage } from "../../../test/support/protobuf/arbitrary-message.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { TABLES as MESH_CONFIG } from "../gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "../gen/tables/proxy-config.ts";
import { TABLES as RULES } from "../gen/tables/rules.ts";
import { mergeMessages } from "../merge-messages.ts";
import { MessageTables } from "../message-tables.ts";
import { formatProtoDuration, parseProtoDuration } from "../proto-duration.ts";
import type { JsonDialect } from "./dialect.ts";
import { GO_JSON } from "./go-dialect.ts";
import { RULE_JSON, STRICT_JSON } from "./plain-dialects.ts";
import { printMessage } from "./print-message.ts";
import { formatPath, readMessage } from "./read-message.ts";
import { withoutZeros } from "./zero-values.ts";

const ISTIO = new MessageTables(PROXY_CONFIG, MESH_CONFIG, RULES);
const TABLES = new MessageTables({
  messages: {
    "t.Inner": "aName 1 s,on 2 wb,size 3 u",
    "t.Outer": [
      "someText 1 s,inner 2 mt.Inner,innerList 3 *mt.Inner,innerMap 4 %smt.Inner,color 5 et.Color,colors 6 *et.Color,free 7 S",
      "odd=ODD_one 8 b,left 9 ?1s,right 10 ?1mt.Inner,big 11 I,when 12 D,byPort 13 %umt.Inner,maybe 14 wu,count 15 i,total 16 U",
      "ratio 17 d,blob 18 y,consecutive5xxErrors=consecutive_5xx_errors 19 wu,http2MaxRequests 20 i,texts 21 %ss",
    ].join(","),
  },
  enums: { "t.Color": "RED 0,BLUE 5" },
});
const OUTER = TABLES.message("t.Outer");

function problemsOf(json: unknown, dialect: JsonDialect): readonly string[] {
  return readMessage(OUTER, json, dialect).problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("settings, as the reference reads them", () => {
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
    expect(readMessage(OUTER, json, GO_JSON)).toEqual({ value: gives, problems: [] });
  });

  test.each([
    {
      json: { inner: { aName: 1 } },
      path: "inner.aName",
      says: "cannot unmarshal number into Go value of type string",
    },
    { json: { innerList: [{}, { on: 1 }] }, path: "innerList[1].on", says: "number into Go value of type bool" },
    {
      json: { innerMap: { k: [] } },
      path: "innerMap.k",
      says: "array into Go value of type map[string]json.RawMessage",
    },
    { json: { colors: ["GREEN"] }, path: "colors[0]", says: String.raw`unknown value "\"GREEN\"" for enum t.Color` },
    { json: { color: true }, path: "color", says: "bool into Go value of type protoreflect.EnumNumber" },
    {
      json: { big: "9223372036854775808" },
      path: "big",
      says: "number 9223372036854775808 into Go value of type int64",
    },
    { json: { right: "x" }, path: "right", says: "string into Go value of type map[string]json.RawMessage" },
    { json: { when: "soon" }, path: "when", says: "bad Duration: time: invalid duration" },
    { json: { innerList: {} }, path: "innerList", says: "object into Go value of type []json.RawMessage" },
  ])("$json is refused at $path and that field stays out", ({ json, path, says }) => {
    const { value, problems } = readMessage(OUTER, json, GO_JSON);
    expect(problems.map((problem) => formatPath(problem.path))).toEqual([path]);
    expect(problems[0]?.message).toContain(says);
    expect(value).toEqual({});
  });

  test.each([
    { type: "count", json: 2147483647, gives: 2147483647 },
    { type: "count", json: "-5", gives: -5 },
    { type: "count", json: "null", gives: 0 },
    { type: "maybe", json: 4294967295, gives: 4294967295 },
    { type: "big", json: 5, gives: "5" },
    { type: "big", json: 9007199254740993n, gives: "9007199254740993" },
    { type: "big", json: "9007199254740993", gives: "9007199254740993" },
    { type: "ratio", json: 2n ** 60n, gives: 2 ** 60 },
    { type: "ratio", json: "1.5", gives: 1.5 },
    { type: "ratio", json: "Infinity", gives: Number.POSITIVE_INFINITY },
  ])("$json as $type is $gives", ({ type, json, gives }) => {
    expect(readMessage(OUTER, { [type]: json }, GO_JSON)).toEqual({ value: { [type]: gives }, problems: [] });
  });

  test.each([
    { type: "count", json: 2147483648, says: "json: cannot unmarshal number 2147483648 into Go value of type int32" },
    { type: "count", json: "true", says: "json: cannot unmarshal bool into Go value of type int32" },
    { type: "count", json: "", says: "unexpected end of JSON input" },
    { type: "count", json: "1.0", says: "json: cannot unmarshal number 1.0 into Go value of type int32" },
    { type: "count", json: [], says: "json: cannot unmarshal array into Go value of type int32" },
    { type: "maybe", json: -1, says: "json: cannot unmarshal number -1 into Go value of type uint32" },
    {
      type: "big",
      json: 9223372036854775808n,
      says: "json: cannot unmarshal number 9223372036854775808 into Go value of type int64",
    },
    {
      type: "count",
      json: 9007199254740993n,
      says: "json: cannot unmarshal number 9007199254740993 into Go value of type int32",
    },
    { type: "ratio", json: {}, says: "json: cannot unmarshal object into Go value of type float64" },
  ])("$json as $type is refused", ({ type, json, says }) => {
    expect(problemsOf({ [type]: json }, GO_JSON)).toEqual([`${type}: ${says}`]);
  });
});

describe("rule objects", () => {
  test("an empty message has zero values, no optional members and no nested messages", () => {
    expect(readMessage(OUTER, {}, RULE_JSON).value).toEqual({
      someText: "",
      innerList: [],
      innerMap: {},
      color: "RED",
      colors: [],
      odd: false,
      big: 0,
      byPort: {},
      count: 0,
      total: 0,
      ratio: 0,
      blob: "",
      http2MaxRequests: 0,
      texts: {},
    });
  });

  test("camel case and the spelling of the .proto file are both read", () => {
    const { value } = readMessage(
      OUTER,
      { ODD_one: true, http2_max_requests: 3, consecutive_5xx_errors: 0, someText: "json", some_text: "proto" },
      RULE_JSON,
    );
    expect(value).toMatchObject({ odd: true, http2MaxRequests: 3, consecutive5xxErrors: 0, someText: "json" });
  });

  test("durations are held in proto3 form, numbers may be quoted, enums may be numbers, null is unset", () => {
    const { value, problems } = readMessage(
      OUTER,
      { when: "250ms", count: "-5", ratio: "1.5", total: "7", color: 5, inner: null, innerList: null, maybe: 0 },
      RULE_JSON,
    );
    expect(problems).toEqual([]);
    expect(value).toMatchObject({ when: "0.250s", count: -5, ratio: 1.5, total: 7, color: "BLUE", maybe: 0 });
    expect(value).not.toHaveProperty("inner");
  });

  test.each([
    { data: { someText: 5 }, says: ["someText: expected text, found number 5; put it in quotes"] },
    { data: { someText: ["a"] }, says: ["someText: expected text, found a list"] },
    { data: { odd: "yes" }, says: ['odd: expected true or false, found string "yes"'] },
    { data: { count: 2 ** 31 }, says: ["count: expected a number from -2147483648 to 2147483647, found 2147483648"] },
    { data: { total: 2 ** 60 }, says: [`total: expected a number from 0 to 9007199254740991, found ${2 ** 60}`] },
    { data: { count: 1.5 }, says: ["count: expected a whole number, found 1.5"] },
    { data: { count: "five" }, says: ['count: expected a number, found string "five"'] },
    { data: { ratio: Number.NaN }, says: [expect.stringContaining("ratio: expected a number from")] },
    { data: { when: 5 }, says: ['when: expected a duration like "1.5s", found number 5'] },
    { data: { when: "5" }, says: ['when: expected a duration like "1.5s": time: missing unit in duration "5"'] },
    { data: { color: "GREEN" }, says: ['color: unknown value "GREEN"; allowed: RED, BLUE'] },
    { data: { color: 7 }, says: ["color: unknown value 7; allowed: RED, BLUE"] },
    { data: { blob: "***" }, says: ["blob: bytes must be base64"] },
    { data: { inner: "x" }, says: ['inner: expected an object (inner), found string "x"'] },
    { data: { innerMap: [] }, says: ["innerMap: expected an object (a map), found a list"] },
    { data: { innerList: {} }, says: ["innerList: expected a list, found an object"] },
    {
      data: { innerList: [null, { size: -1 }] },
      says: [
        "innerList.0: inner may not be null",
        "innerList.1.size: expected a number from 0 to 4294967295, found -1",
      ],
    },
    { data: { byPort: { a: {} } }, says: ['byPort.a: expected a number as key, found "a"'] },
    { data: { left: "", right: {} }, says: [": only one of left, right may be set, found left and right"] },
    {
      data: { nmae: "x", inner: { sise: 1 } },
      says: ['inner.sise: unknown field "sise" in inner', 'nmae: unknown field "nmae" in outer'],
    },
    { data: [], says: [": expected an object (outer), found a list"] },
    { data: null, says: [": expected an object (outer), found null"] },
  ])("$data", ({ data, says }) => expect(problemsOf(data, RULE_JSON)).toEqual(says));

  test("a key without a value is the zero value", () => {
    expect(readMessage(OUTER, { texts: { present: null } }, RULE_JSON).value.texts).toEqual({ present: "" });
  });

  test("random data gives a value or problems for every message, and never throws", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(RULES.messages)), fc.jsonValue(), (name, data) => {
        const { value, problems } = readMessage(ISTIO.message(name), data, RULE_JSON);
        expect(typeof value).toBe("object");
        if (typeof data !== "object" || data === null || Array.isArray(data)) expect(problems).toHaveLength(1);
      }),
    );
  });
});

test.each([GO_JSON, RULE_JSON, STRICT_JSON])("names of every object's members are not found by accident", (dialect) => {
  const { problems } = readMessage(OUTER, JSON.parse('{"__proto__":{"someText":"x"},"constructor":1}'), dialect);
  expect(problems.map(({ code, path }) => [code, ...path])).toEqual([
    ["unknown", "__proto__"],
    ["unknown", "constructor"],
  ]);
  expect(readMessage(OUTER, JSON.parse('{"texts": {"__proto__": "x"}}'), dialect).value.texts).toEqual(
    JSON.parse('{"__proto__": "x"}'),
  );
});

test("members that are ignored are like those that the message does not have", () => {
  const isIgnored: JsonDialect["isIgnored"] = (_table, { name }) => name === "someText";
  const { value, problems } = readMessage(OUTER, { some_text: "x" }, { ...GO_JSON, isIgnored });
  expect(value).toEqual({});
  expect(problems).toMatchObject([{ code: "unknown", path: ["some_text"] }]);
});

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

test("a merge of settings replaces whole members and clears the other members of a oneof", () => {
  const base = Object.freeze({ someText: "a", left: "l", inner: { aName: "x" } });
  const merge = (over: object) => mergeMessages(OUTER, base, over, "replace-members");
  expect(merge({ right: {}, inner: {} })).toEqual({ someText: "a", right: {}, inner: {} });
  expect(merge({})).toEqual(base);
});

test.each([
  ...Object.keys(PROXY_CONFIG.messages),
  ...Object.keys(MESH_CONFIG.messages),
  ...Object.keys(RULES.messages),
])("%s has each name and number once", (name) => {
  const fields = [...ISTIO.message(name).byName.values()];
  const names = fields.flatMap((field) => [...new Set([field.name, field.protoName])]);
  expect(names.length).toBe(new Set(names).size);
  expect(fields.length).toBe(ISTIO.message(name).byNumber.size);
});

describe("any message", () => {
  test.each([ISTIO.message("istio.mesh.v1alpha1.ProxyConfig"), ISTIO.message("istio.mesh.v1alpha1.MeshConfig"), OUTER])(
    "$name is read without a problem and reads back from its own print",
    async (table) => {
      await fc.assert(
        fc.asyncProperty(arbitraryMessage(table), async (document) => {
          const { value, problems } = readMessage(table, document, GO_JSON);
          expect(problems).toEqual([]);
          const printed = await parseYaml(printMessage(table, value));
          expect(readMessage(table, printed, GO_JSON)).toEqual({ value: withoutZeros(table, value), problems: [] });
        }),
        { numRuns: 60 },
      );
    },
  );
});
