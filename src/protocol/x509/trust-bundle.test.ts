import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createTestCa, validFor } from "../../../test/support/certs/test-ca.ts";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { SYSTEM_ROOT_PATHS } from "../../net/tls/system-roots.ts";
import { buildCertificate } from "./certificate-builder.ts";
import { generateKeyPair } from "./key-pair.ts";
import { buildName } from "./name.ts";
import { encodePem } from "./pem.ts";
import { createBundleWarnings, parseTrustBundle } from "./trust-bundle.ts";

const { rootPem } = await createTestCa();
const key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

test("certificates come back re-encoded, in file order, with duplicates", () => {
  expect(parseTrustBundle(`# ours\n${rootPem}\n\n${rootPem}`)).toEqual({
    pem: rootPem + rootPem,
    count: 2,
    problems: [],
  });
});

test("an empty file has no certificate and no problem", () => {
  expect(parseTrustBundle(" \n")).toEqual({ pem: "", count: 0, problems: [] });
});

test.each([
  { what: "plain text", text: "hello", reason: "invalid PEM encoded certificate" },
  {
    what: "garbage in a block",
    text: `${"-".repeat(5)}BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`,
    reason: "failed to parse X.509 certificate",
  },
  { what: "a private key", text: key, reason: "invalid PEM block type PRIVATE KEY" },
  {
    what: "a block without an end",
    text: "-----BEGIN CERTIFICATE-----\nAAAA",
    reason: "invalid PEM encoded certificate",
  },
])("$what is named and the certificate beside it is used", ({ text, reason }) => {
  expect(parseTrustBundle(text)).toEqual({ pem: "", count: 0, problems: [{ position: 1, reason }] });
  const problems = [{ position: 2, reason }];
  expect(parseTrustBundle(`${rootPem}${text}`)).toEqual({ pem: rootPem, count: 1, problems });
});

test("a certificate with a negative serial number is left out", async () => {
  const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  const name = buildName({ organization: "x" });
  const publicKeyDer = keys.publicKey.export({ type: "spki", format: "der" });
  const serial = Buffer.of(0x2a, 1, 2, 3);
  const fields = { issuer: name, subject: name, ...validFor(1000), publicKeyDer, extensions: [], serial };
  const der = await buildCertificate(fields, keys.privateKey);
  der[der.indexOf(serial)] = 0xaa; // only the sign bit; the signature is not looked at
  const { count, problems } = parseTrustBundle(encodePem("CERTIFICATE", der) + rootPem);
  expect({ count, problems }).toEqual({
    count: 1,
    problems: [{ position: 1, reason: "x509: negative serial number" }],
  });
});

test("the operating system's bundle is parsed without loss", () => {
  const path = SYSTEM_ROOT_PATHS.find((candidate) => existsSync(candidate));
  if (path === undefined) return;
  const text = readFileSync(path, "latin1");
  const blocks = text.match(/BEGIN CERTIFICATE/g)?.length ?? 0;
  expect(parseTrustBundle(text)).toMatchObject({ count: blocks, problems: [] });
});

test("a framing error stops the scan", () => {
  expect(parseTrustBundle(`-----BEGIN CERTIFICATE-----\nAAAA\n${key}${rootPem}`).count).toBeLessThanOrEqual(1);
});

test("any text gives a result, and key bytes never appear in it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(rootPem, key, "-----BEGIN ", "-----END CERTIFICATE-----", "\n", "x")),
      (parts) => {
        const { pem, problems } = parseTrustBundle(parts.join(""));
        expect(pem + JSON.stringify(problems)).not.toContain("AAAA");
      },
    ),
  );
});

test.each(["X509 CERTIFICATE", "TRUSTED CERTIFICATE"])("a block of type %s is a certificate like others", (type) => {
  expect(parseTrustBundle(rootPem.replaceAll("CERTIFICATE", type))).toEqual({ pem: rootPem, count: 1, problems: [] });
});

test("headers in a block are left out: Envoy would refuse it for them", () => {
  const withHeaders = rootPem.replace("-----\n", "-----\nComment: ours\nMore: yes\n\n");
  expect(parseTrustBundle(withHeaders)).toEqual({ pem: rootPem, count: 1, problems: [] });
});

test("a certificate that was cut off does not take the next one with it", () => {
  const cut = `${rootPem.slice(0, 100)}\n`;
  const reason = "invalid PEM encoded certificate";
  const problems = [{ position: 1, reason }];
  expect(parseTrustBundle(cut + rootPem)).toEqual({ pem: rootPem, count: 1, problems });
  expect(parseTrustBundle(rootPem + cut + cut + rootPem + key)).toEqual({
    pem: rootPem + rootPem,
    count: 2,
    problems: [
      { position: 2, reason },
      { position: 5, reason: "invalid PEM block type PRIVATE KEY" },
    ],
  });
});

test("a hundred thousand beginnings without an end are read in one pass", () => {
  for (const end of ["", "-----END CERTIFICATE-----"]) {
    const parse = (count: number) => parseTrustBundle("-----BEGIN CERTIFICATE-----\n".repeat(count) + end);
    expect(parse(100_000).count).toBe(0);
    expect(growthFactor(parse, 12_500)).toBeLessThan(BELOW_SQUARE);
  }
});

test("what is left out of a bundle is reported by its position, and again only when that changes", () => {
  const lines: string[] = [];
  const warn = createBundleWarnings({ warn: (text) => void lines.push(text) });
  const read = (text: string) => warn("/roots.pem", parseTrustBundle(text));
  for (const text of [rootPem, rootPem + key, rootPem + key, rootPem, key + rootPem]) read(text);
  const line = (position: number) =>
    `some root certificates in /roots.pem are not used: certificate ${position}: invalid PEM block type PRIVATE KEY`;
  expect(lines).toEqual([line(2), line(1)]);
});
