import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KINDS } from "../specs/kinds.ts";
import { decodeMessage } from "./decode-message.ts";
import {
  bool,
  bytes,
  double,
  duration,
  int32,
  json,
  list,
  map,
  message,
  oneOf,
  optional,
  string,
  uint32,
  uint64,
} from "./schema.ts";

const INNER = message("inner", { size: uint32, unit: string });
const SAMPLE = message(
  "sample",
  {
    name: string,
    isOn: bool,
    count: int32,
    total: uint64,
    ratio: double,
    wait: duration,
    blob: bytes,
    free: json,
    mode: oneOf("FIRST", "SECOND"),
    inner: INNER,
    items: list(INNER),
    byPort: map(INNER, "uint32"),
    maybe: optional(uint32),
    left: optional(string),
    right: optional(string),
    consecutive5xxErrors: optional(uint32),
    http2MaxRequests: int32,
  },
  [["left", "right"]],
);

const read = (data: unknown) => decodeMessage(SAMPLE, data);
const errors = (data: unknown) =>
  read(data).problems.map(({ path, message: text, severity }) => `${severity} ${path.join(".")}: ${text}`);

test("an empty message has zero values, no optional members and no nested messages", () => {
  expect(read({}).value).toEqual({
    name: "",
    isOn: false,
    count: 0,
    total: 0,
    ratio: 0,
    blob: "",
    mode: "FIRST",
    items: [],
    byPort: {},
    http2MaxRequests: 0,
  });
});

test("camel case and the spelling of the proto file are both read", () => {
  expect(read({ is_on: true, http2_max_requests: 3, consecutive_5xx_errors: 0 }).value).toMatchObject({
    isOn: true,
    http2MaxRequests: 3,
    consecutive5xxErrors: 0,
  });
  expect(read({ isOn: true, is_on: false }).value.isOn).toBe(true);
});

test("durations are held in proto3 form, numbers may be quoted, enums may be numbers, null is unset", () => {
  const { value, problems } = read({
    wait: "250ms",
    count: "-5",
    ratio: "1.5",
    mode: 1,
    inner: null,
    items: null,
    maybe: 0,
  });
  expect(problems).toEqual([]);
  expect(value).toMatchObject({ wait: "0.250s", count: -5, ratio: 1.5, mode: "SECOND", items: [], maybe: 0 });
  expect(value).not.toHaveProperty("inner");
});

describe("problems", () => {
  test.each([
    { data: { name: 5 }, says: ["error name: expected text, found number 5; put it in quotes"] },
    { data: { name: ["a"] }, says: ["error name: expected text, found a list"] },
    { data: { isOn: "yes" }, says: ['error isOn: expected true or false, found string "yes"'] },
    {
      data: { count: 2 ** 31 },
      says: ["error count: expected a number from -2147483648 to 2147483647, found 2147483648"],
    },
    { data: { count: 1.5 }, says: ["error count: expected a whole number, found 1.5"] },
    { data: { count: "five" }, says: ['error count: expected a number, found string "five"'] },
    { data: { ratio: Number.NaN }, says: [expect.stringContaining("error ratio: expected a number from")] },
    { data: { wait: 5 }, says: ['error wait: expected a duration like "1.5s", found number 5'] },
    { data: { wait: "5" }, says: ['error wait: expected a duration like "1.5s": time: missing unit in duration "5"'] },
    { data: { mode: "THIRD" }, says: ['error mode: unknown value "THIRD"; allowed: FIRST, SECOND'] },
    { data: { mode: 7 }, says: ["error mode: unknown value 7; allowed: FIRST, SECOND"] },
    { data: { inner: "x" }, says: ['error inner: expected an object (inner), found string "x"'] },
    { data: { items: {} }, says: ["error items: expected a list, found an object"] },
    {
      data: { items: [null, { size: -1 }] },
      says: [
        "error items.0: inner may not be null",
        "error items.1.size: expected a number from 0 to 4294967295, found -1",
      ],
    },
    { data: { byPort: { a: {} } }, says: ['error byPort.a: expected a number as key, found "a"'] },
    { data: { left: "", right: "" }, says: ["error : only one of left, right may be set, found left and right"] },
    {
      data: { nmae: "x", inner: { sise: 1 } },
      says: [
        'warning inner.sise: unknown field "sise" in inner, it is ignored',
        'warning nmae: unknown field "nmae" in sample, it is ignored',
      ],
    },
    { data: [], says: ["error : expected an object (sample), found a list"] },
    { data: null, says: ["error : expected an object (sample), found null"] },
  ])("$data", ({ data, says }) => expect(errors(data)).toEqual(says));
});

test("members named like those of every object are not found by accident", () => {
  expect(errors(JSON.parse('{"constructor": 1, "__proto__": {"name": "x"}}'))).toHaveLength(2);
  expect(
    decodeMessage(message("m", { labels: map(string) }), JSON.parse('{"labels": {"__proto__": "x"}}')).value.labels,
  ).toEqual(JSON.parse('{"__proto__": "x"}'));
});

test("random data gives a value or problems for every kind, and never throws", () => {
  const kinds = Object.values(KINDS);
  fc.assert(
    fc.property(fc.constantFrom(...kinds), fc.jsonValue(), ({ spec }, data) => {
      const { value, problems } = decodeMessage(spec, data);
      expect(typeof value).toBe("object");
      if (typeof data !== "object" || data === null || Array.isArray(data)) expect(problems).toHaveLength(1);
    }),
  );
});
