import fc from "fast-check";
import { expect, test } from "vitest";
import { protocolOf } from "./split-protocols.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

test.each([
  { seen: "", protocol: "undecided" },
  { seen: "P", protocol: "undecided" },
  { seen: "PUT /config HTTP/1.1\r\n", protocol: "http1" },
  { seen: "GET", protocol: "http1" },
  { seen: "PRI * HTTP/1.1\r\n", protocol: "http1" },
  { seen: PREFACE.slice(0, -1), protocol: "undecided" },
  { seen: PREFACE, protocol: "http2" },
  { seen: `${PREFACE}more`, protocol: "http2" },
  { seen: "\x16\x03\x01", protocol: "http1" },
])("a connection that begins with $seen is $protocol", ({ seen, protocol }) => {
  expect(protocolOf(Buffer.from(seen, "latin1"))).toBe(protocol);
});

test("more bytes never change what was decided", () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc
      .tuple(fc.nat(PREFACE.length), fc.uint8Array())
      .map(([cut, rest]) => [...Buffer.from(PREFACE).subarray(0, cut), ...rest]),
  );
  fc.assert(
    fc.property(bytes, fc.nat(40), (all, cut) => {
      const whole = Buffer.from(all);
      const early = protocolOf(whole.subarray(0, cut));
      if (early !== "undecided") expect(protocolOf(whole)).toBe(early);
      else expect(PREFACE.startsWith(whole.subarray(0, cut).toString("latin1"))).toBe(true);
    }),
  );
});
