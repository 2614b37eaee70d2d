import { expect, test } from "vitest";
import { parseMetadataLine } from "./metadata-line.ts";

const parse = (text: string) => {
  const bytes = Buffer.from(text, "latin1");
  return parseMetadataLine(bytes, 0, bytes.length);
};

test.each([
  ["# TYPE a counter", { kind: "type", name: "a", value: "counter" }],
  ["#\tTYPE  a:b \t gauge ", { kind: "type", name: "a:b", value: "gauge" }],
  ["# HELP a Some text.", { kind: "help", name: "a", value: "Some text." }],
  ["# HELP a", { kind: "help", name: "a", value: "" }],
  ["# HELP a\tb  c\t", { kind: "help", name: "a", value: "b  c\t" }],
  ["# HELP a Caf\xc3\xa9", { kind: "help", name: "a", value: "Café" }],
  ["# TYPE a", { kind: "type", name: "a", value: "" }],
  ["# TYPE a ", { kind: "type", name: "a", value: "" }],
  ["# TYPE a.b counter", { kind: "comment" }],
  ["# TYPE a counter\r", { kind: "type", name: "a", value: "counter" }],
  ["# HELP a C:\\\\dir\\n", { kind: "help", name: "a", value: "C:\\\\dir\\n" }],
  ["# UNIT a_seconds seconds", { kind: "unit", name: "a_seconds", value: "seconds" }],
  ["# EOF", { kind: "eof" }],
  ["# EOF \r", { kind: "eof" }],
  ["# anything", { kind: "comment" }],
  ["#TYPE a counter", { kind: "comment" }],
  ["# TYPE 9 counter", { kind: "comment" }],
  ["# HELP a bad \\x escape", { kind: "comment" }],
  ["# HELP a \xff", { kind: "comment" }],
])("%j", (line, want) => {
  expect(parse(line)).toEqual(want);
});
