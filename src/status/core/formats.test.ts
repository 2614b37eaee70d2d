import { expect, test } from "vitest";
import { acceptFormats, commonFormat, formatOf, TEXT_ANSWER } from "./formats.ts";

const FALLBACK = "text/plain;version=0.0.4";
const PROMETHEUS =
  "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;q=0.9,*/*;q=0.1";

test.each([
  {
    header: PROMETHEUS,
    kind: "application",
    want: "application/openmetrics-text; q=0.3; version=1.0.0,text/plain; q=0.2; version=0.0.4,text/plain; q=0.1; version=0.0.4",
  },
  { header: PROMETHEUS, kind: "envoy", want: "text/plain; q=0.2; version=0.0.4,text/plain; q=0.1; version=0.0.4" },
  {
    header: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4",
    kind: "application",
    want: "application/openmetrics-text; q=0.2; version=1.0.0,text/plain; q=0.1; version=0.0.4",
  },
  { header: "*/*", kind: "application", want: "text/plain; q=0.1; version=0.0.4" },
  { header: "*/*,*", kind: "application", want: "text/plain; q=0.1; version=0.0.4" },
  { header: "application/*", kind: "application", want: "application/openmetrics-text; q=0.1; version=0.0.1" },
  { header: "text/*", kind: "envoy", want: "text/*; q=0.1" },
  {
    header: "text/plain;version=1.0.0;escaping=allow-utf-8",
    kind: "application",
    want: "text/plain; escaping=underscores; q=0.1; version=1.0.0",
  },
  { header: 'text/plain; charset="utf-8"', kind: "envoy", want: "text/plain; charset=utf-8; q=0.1" },
] as const)("$kind is asked for $want", ({ header, kind, want }) => {
  expect(acceptFormats(header, kind)).toEqual({ accept: want, warning: undefined });
});

test("more than nine types still rank in their order", () => {
  const { accept } = acceptFormats(Array.from({ length: 12 }, () => "text/plain").join(","), "envoy");
  const ranks = [...accept.matchAll(/q=([\d.]+)/g)].map(([, rank]) => Number(rank));
  expect(ranks).toHaveLength(12);
  expect(ranks.slice(0, 3)).toEqual([0.12, 0.11, 0.1]);
});

test.each([
  { header: undefined, warning: undefined },
  { header: "", warning: undefined },
  { header: "/", warning: expect.stringContaining('Failed to parse Accept header "/"') },
  { header: "text/plain;;=", warning: expect.stringContaining("Failed to parse Accept header") },
  { header: "a/b/c", warning: expect.stringContaining("Failed to parse Accept header") },
  {
    header: "application/vnd.google.protobuf",
    warning: expect.stringContaining("No recognized encodings found in Accept header"),
  },
])("$header falls back to text", ({ header, warning }) => {
  expect(acceptFormats(header, "application")).toEqual({ accept: FALLBACK, warning });
});

const om = (version: string) => `application/openmetrics-text; version=${version}; charset=utf-8`;

test.each([
  ["application/openmetrics-text; version=0.0.1", om("0.0.1")],
  ["application/openmetrics-text; version=0.0.1; charset=utf-8", om("0.0.1")],
  ["application/openmetrics-text", om("0.0.1")],
  ["Application/OpenMetrics-Text; Version=1.0.0", om("1.0.0")],
  ["application/openmetrics-text; version=2.0.0", TEXT_ANSWER.contentType],
  ["text/plain; version=0.0.4", TEXT_ANSWER.contentType],
  ["text/html", TEXT_ANSWER.contentType],
  ["", TEXT_ANSWER.contentType],
  [undefined, TEXT_ANSWER.contentType],
])("%s is answered as %s", (contentType, want) => {
  expect(formatOf(contentType)?.contentType).toBe(want);
});

test("protobuf is not text", () => {
  expect(formatOf("application/vnd.google.protobuf; proto=x")).toBeUndefined();
});

test("several must agree", () => {
  const [one, other] = [formatOf(om("1.0.0")) ?? TEXT_ANSWER, formatOf(om("0.0.1")) ?? TEXT_ANSWER];
  expect(commonFormat([])).toBe(TEXT_ANSWER);
  expect(commonFormat([one, one])).toBe(one);
  expect(commonFormat([one, other])).toBe(TEXT_ANSWER);
  expect(commonFormat([TEXT_ANSWER, one])).toBe(TEXT_ANSWER);
});
