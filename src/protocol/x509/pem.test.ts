import fc from "fast-check";
import { expect, test } from "vitest";
import { encodePem, parsePem, parsePemCertificates } from "./pem.ts";
import { X509Error } from "./x509-error.ts";

test("lines have 64 characters and the text ends with a newline", () => {
  const lines = encodePem("CERTIFICATE", Buffer.alloc(60, 1)).split("\n");
  expect(lines.map((line) => line.length)).toEqual([27, 64, 16, 25, 0]);
});

test("parsing inverts encoding", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }), (contents) => {
      const text = contents.map((content) => encodePem("CERTIFICATE", content)).join("text between\n");
      expect(parsePemCertificates(text)).toEqual(contents.map((content) => Buffer.from(content)));
    }),
  );
});

test("headers of older tools, carriage returns and missing newlines are accepted", () => {
  const withHeaders =
    "-----BEGIN X-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-256-CBC,00\r\n\r\nAAEC\r\n-----END X-----";
  expect(parsePem(withHeaders)).toEqual([{ type: "X", der: Buffer.of(0, 1, 2) }]);
  expect(parsePem("-----BEGIN X-----AAEC-----END X-----")).toEqual([{ type: "X", der: Buffer.of(0, 1, 2) }]);
});

test.each([
  { what: "no end line", text: "-----BEGIN X-----\nAAEC\n" },
  { what: "the end line of another type", text: "-----BEGIN X-----\nAAEC\n-----END Y-----" },
  { what: "a body that is not base64", text: "-----BEGIN X-----\nA*EC\n-----END X-----" },
  { what: "a begin line that never ends", text: "-----BEGIN X" },
])("a block with $what is refused without showing it", ({ text }) => {
  const parsing = () => parsePem(text);
  expect(parsing).toThrow(X509Error);
  expect(parsing).not.toThrow(/A\*?EC/);
});

test("text without blocks holds none, and other types are not certificates", () => {
  expect(parsePem("hello")).toEqual([]);
  expect(parsePemCertificates(encodePem("PRIVATE KEY", Buffer.of(1)))).toEqual([]);
});

test("random text gives blocks or an X509Error", () => {
  const piece = fc.oneof(fc.constantFrom("-----BEGIN ", "-----END ", "X-----", "\n", "AAEC"), fc.string());
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      try {
        parsePem(pieces.join(""));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(X509Error);
      }
    }),
    { numRuns: 1000 },
  );
});

test("four megabytes of begin lines are refused in linear time", () => {
  expect(() => parsePem("-----BEGIN A-----\n".repeat(230_000))).toThrow(X509Error);
  expect(() => parsePem(`-----BEGIN A-----\n${"a:\r\n".repeat(200_000)}-----END A-----`)).toThrow(X509Error);
});
