import { expect, test } from "vitest";
import { formatJsonLine, formatTextLine, formatTime, type LogLine } from "./format-line.ts";

const line = (overrides: Partial<LogLine>): LogLine => ({
  timeMs: Date.UTC(2023, 9, 5, 1, 2, 3) + 0.004,
  level: "info",
  scope: "",
  caller: undefined,
  message: "Hello",
  fields: {},
  stack: undefined,
  ...overrides,
});
const role = { ips: ["10.3.3.3", "::1"], type: "sidecar", id: "p.ns", domain: "ns.svc.cluster.local" };

test.each([
  { name: "time, level and message", given: {}, text: "2023-10-05T01:02:03.000004Z\tinfo\tHello\n" },
  {
    name: "a scope between level and message",
    given: { scope: "sds" },
    text: "2023-10-05T01:02:03.000004Z\tinfo\tsds\tHello\n",
  },
  {
    name: "a caller after the scope",
    given: { scope: "sds", caller: "sds/server.ts:12" },
    text: "2023-10-05T01:02:03.000004Z\tinfo\tsds\tsds/server.ts:12\tHello\n",
  },
  {
    name: "labels after a tab, lists in brackets",
    given: { message: "Proxy role", fields: role },
    text: "2023-10-05T01:02:03.000004Z\tinfo\tProxy role\tips=[10.3.3.3 ::1] type=sidecar id=p.ns domain=ns.svc.cluster.local\n",
  },
  { name: "newlines raw", given: { message: "a\nb" }, text: "2023-10-05T01:02:03.000004Z\tinfo\ta\nb\n" },
  {
    name: "no line that only looks like one",
    given: { message: "refused: x\n2026-01-01T00:00:00.000000Z\tinfo\tforged" },
    text: "2023-10-05T01:02:03.000004Z\tinfo\trefused: x\n\t2026-01-01T00:00:00.000000Z\tinfo\tforged\n",
  },
  {
    name: "control characters of values escaped",
    given: { fields: { pod: "a\nb\tc\u001b[2J\u2028d", list: ["x\r"] } },
    text: "2023-10-05T01:02:03.000004Z\tinfo\tHello\tpod=a\\nb\\tc\\u001b[2J\\u2028d list=[x\\r]\n",
  },
  {
    name: "terminal sequences of messages escaped",
    given: { message: "a\u001b]0;title\u0007\rb" },
    text: "2023-10-05T01:02:03.000004Z\tinfo\ta\\u001b]0;title\\u0007\\rb\n",
  },
  { name: "a stack below", given: { stack: "at x" }, text: "2023-10-05T01:02:03.000004Z\tinfo\tHello\nat x\n" },
  {
    name: "an undefined label not at all",
    given: { fields: { a: undefined } },
    text: "2023-10-05T01:02:03.000004Z\tinfo\tHello\n",
  },
])("text shows $name", ({ given, text }) => {
  expect(formatTextLine(line(given))).toBe(text);
});

test.each([
  {
    name: "keys in fixed order and labels with their types",
    given: { scope: "sds", fields: { foo: "bar", baz: 123, dur: "101ms" } },
    text: '{"level":"info","time":"2023-10-05T01:02:03.000004Z","scope":"sds","msg":"Hello","foo":"bar","baz":123,"dur":"101ms"}\n',
  },
  {
    name: "lists as arrays",
    given: { message: "Proxy role", fields: role },
    text: '{"level":"info","time":"2023-10-05T01:02:03.000004Z","msg":"Proxy role","ips":["10.3.3.3","::1"],"type":"sidecar","id":"p.ns","domain":"ns.svc.cluster.local"}\n',
  },
  {
    name: "only quotes, backslashes and control characters escaped",
    given: { message: '<a> & "b" \\ \u001b ü' },
    text: '{"level":"info","time":"2023-10-05T01:02:03.000004Z","msg":"<a> & \\"b\\" \\\\ \\u001b ü"}\n',
  },
  {
    name: "caller before and stack last",
    given: { caller: "a/b.ts:1", stack: "x\ny", fields: { k: 1 } },
    text: '{"level":"info","time":"2023-10-05T01:02:03.000004Z","caller":"a/b.ts:1","msg":"Hello","k":1,"stack":"x\\ny"}\n',
  },
  {
    name: "big integers and errors as text",
    given: { fields: { n: 5n, e: new Error("no") } },
    text: '{"level":"info","time":"2023-10-05T01:02:03.000004Z","msg":"Hello","n":"5","e":"no"}\n',
  },
])("JSON shows $name", ({ given, text }) => {
  expect(formatJsonLine(line(given))).toBe(text);
});

test("times have exactly six digits of a second", () => {
  expect(formatTime(0)).toBe("1970-01-01T00:00:00.000000Z");
  expect(formatTime(1.5)).toBe("1970-01-01T00:00:00.001500Z");
});
