import fc from "fast-check";
import { expect, test } from "vitest";
import { createTestCa } from "../../../test/support/sds-certificates.ts";
import { parseRoots } from "./parse-roots.ts";

const { rootPem } = await createTestCa();
const key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

test("certificates come back re-encoded, in file order, with duplicates", () => {
  expect(parseRoots(`# ours\n${rootPem}\n\n${rootPem}`)).toEqual({ pem: rootPem + rootPem, count: 2, problems: [] });
});

test("an empty file has no certificate and no problem", () => {
  expect(parseRoots(" \n")).toEqual({ pem: "", count: 0, problems: [] });
});

test.each([
  { what: "plain text", text: "hello", problems: ["invalid PEM encoded certificate"] },
  {
    what: "garbage in a block",
    text: `${"-".repeat(5)}BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`,
    problems: ["failed to parse X.509 certificate"],
  },
  { what: "a private key", text: key, problems: ["invalid PEM block type PRIVATE KEY"] },
  {
    what: "a block without an end",
    text: "-----BEGIN CERTIFICATE-----\nAAAA",
    problems: ["invalid PEM encoded certificate"],
  },
])("$what is named and the certificate beside it is kept", ({ text, problems }) => {
  expect(parseRoots(text)).toEqual({ pem: "", count: 0, problems });
  expect(parseRoots(`${rootPem}${text}`)).toEqual({ pem: rootPem, count: 1, problems });
});

test("a framing error stops the scan", () => {
  expect(parseRoots(`-----BEGIN CERTIFICATE-----\nAAAA\n${key}${rootPem}`).count).toBeLessThanOrEqual(1);
});

test("any text gives a result, and key bytes never appear in it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(rootPem, key, "-----BEGIN ", "-----END CERTIFICATE-----", "\n", "x")),
      (parts) => {
        const { pem, problems } = parseRoots(parts.join(""));
        expect(pem + problems.join("")).not.toContain("AAAA");
      },
    ),
  );
});
