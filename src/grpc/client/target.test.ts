import fc from "fast-check";
import { expect, test } from "vitest";
import { parseTarget, TargetError } from "./target.ts";

test.each([
  { text: "localhost:15010", target: { kind: "tcp", host: "localhost", port: 15010 } },
  { text: "10.0.0.1:1", target: { kind: "tcp", host: "10.0.0.1", port: 1 } },
  { text: "[::1]:65535", target: { kind: "tcp", host: "::1", port: 65535 } },
  { text: "unix:etc/XDS", target: { kind: "unix", path: "etc/XDS" } },
  { text: "unix:./etc/XDS", target: { kind: "unix", path: "./etc/XDS" } },
  { text: "unix:/run/sds", target: { kind: "unix", path: "/run/sds" } },
  { text: "unix:///run/sds", target: { kind: "unix", path: "/run/sds" } },
])("$text is understood", ({ text, target }) => {
  expect(parseTarget(text)).toEqual({ ...target, text });
});

test.each(["", "localhost", ":80", "::1:80", "host:", "host:abc", "host:0", "host:65536", "unix:", "http://host:80"])(
  "%j is refused with what is allowed",
  (text) => {
    expect(() => parseTarget(text)).toThrow(TargetError);
    expect(() => parseTarget(text)).toThrow(JSON.stringify(text));
  },
);

test("any text gives a target or a coded error", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(parseTarget(text).text).toBe(text);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid-target" });
      }
    }),
  );
});
