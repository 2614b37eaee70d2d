import { expect, test } from "vitest";
import { commonFormat, formatOf, TEXT_ANSWER } from "./answer-format.ts";

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

test("protobuf is no text", () => {
  expect(formatOf("application/vnd.google.protobuf; proto=x")).toBeUndefined();
});

test("several must agree", () => {
  const [one, other] = [formatOf(om("1.0.0")) ?? TEXT_ANSWER, formatOf(om("0.0.1")) ?? TEXT_ANSWER];
  expect(commonFormat([])).toBe(TEXT_ANSWER);
  expect(commonFormat([one, one])).toBe(one);
  expect(commonFormat([one, other])).toBe(TEXT_ANSWER);
  expect(commonFormat([TEXT_ANSWER, one])).toBe(TEXT_ANSWER);
});
