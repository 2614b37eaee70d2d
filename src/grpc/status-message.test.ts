import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeStatusMessage, encodeStatusMessage } from "./status-message.ts";

test.each([
  { text: "plain text, with punctuation!", header: "plain text, with punctuation!" },
  { text: "100%", header: "100%25" },
  { text: "tab\tnew\nline", header: "tab%09new%0Aline" },
  { text: "größe", header: "gr%C3%B6%C3%9Fe" },
  { text: "\u{1f642}", header: "%F0%9F%99%82" },
  { text: "", header: "" },
])("$text is sent as $header", ({ text, header }) => {
  expect(encodeStatusMessage(text)).toBe(header);
});

test.each([
  { header: "100%", text: "100%" },
  { header: "%4", text: "%4" },
  { header: "%zz%41", text: "%zzA" },
  { header: "%c3%b6", text: "ö" },
  { header: "%ff", text: "\ufffd" },
])("$header, which a careless peer may send, reads as $text", ({ header, text }) => {
  expect(decodeStatusMessage(header)).toBe(text);
});

test("decoding inverts encoding, and the header is printable ASCII", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const header = encodeStatusMessage(text);
      expect(header).toMatch(/^[\x20-\x7e]*$/);
      expect(decodeStatusMessage(header)).toBe(text);
    }),
  );
});
