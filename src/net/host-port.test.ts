import fc from "fast-check";
import { expect, test } from "vitest";
import { bracketHost, joinHostPort, parsePort, splitHostPort, unbracketHost } from "./host-port.ts";

test("splitting inverts joining", () => {
  const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6());
  fc.assert(
    fc.property(host, fc.integer({ min: 0, max: 99999 }), (name, port) => {
      expect(splitHostPort(joinHostPort(name, port))).toEqual({ host: name, port: String(port) });
      expect(unbracketHost(bracketHost(name))).toBe(name);
    }),
  );
});

test.each([
  { text: "", problem: "missing port in address" },
  { text: "bad", problem: "address bad: missing port in address" },
  { text: "::1:80", problem: "address ::1:80: too many colons in address" },
  { text: "[a", problem: "address [a: missing port in address" },
  { text: "[::1", problem: "address [::1: missing ']' in address" },
  { text: "[::1]", problem: "address [::1]: missing port in address" },
  { text: "[a]b:1", problem: "address [a]b:1: missing port in address" },
  { text: "[a]:1:2", problem: "address [a]:1:2: too many colons in address" },
  { text: "a]:1", problem: "address a]:1: unexpected ']' in address" },
  { text: "a[b:1", problem: "address a[b:1: unexpected '[' in address" },
  { text: "[a[b]:1", problem: "address [a[b]:1: unexpected '[' in address" },
])("$text: $problem", ({ text, problem }) => {
  expect(splitHostPort(text)).toEqual({ problem });
});

test.each([
  ["0", 0],
  ["080", 80],
  ["65535", 65535],
  ["65536", undefined],
  ["-1", undefined],
  ["+1", undefined],
  ["http", undefined],
  ["", undefined],
])("port %s is %s", (text, port) => {
  expect(parsePort(text)).toBe(port);
});
