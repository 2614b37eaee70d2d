import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createTestCa, validFor } from "../../../test/support/certs/sds-certificates.ts";
import { buildCertificate } from "../../protocol/x509/certificate-builder.ts";
import { generateKeyPair } from "../../protocol/x509/key-pair.ts";
import { buildName } from "../../protocol/x509/name.ts";
import { encodePem } from "../../protocol/x509/pem.ts";
import { SYSTEM_ROOT_PATHS } from "../files/root-file.ts";
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

test("a certificate with a negative serial number is left out", async () => {
  const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  const name = buildName({ organization: "x" });
  const publicKeyDer = keys.publicKey.export({ type: "spki", format: "der" });
  const serial = Buffer.of(0x2a, 1, 2, 3);
  const fields = { issuer: name, subject: name, ...validFor(1000), publicKeyDer, extensions: [], serial };
  const der = await buildCertificate(fields, keys.privateKey);
  der[der.indexOf(serial)] = 0xaa; // only the sign bit; the signature is not looked at
  const { count, problems } = parseRoots(encodePem("CERTIFICATE", der) + rootPem);
  expect({ count, problems }).toEqual({ count: 1, problems: ["x509: negative serial number"] });
});

test("the operating system's bundle is parsed without loss", () => {
  const path = SYSTEM_ROOT_PATHS.find((candidate) => existsSync(candidate));
  if (path === undefined) return;
  const text = readFileSync(path, "latin1");
  const blocks = text.match(/BEGIN CERTIFICATE/g)?.length ?? 0;
  expect(parseRoots(text)).toMatchObject({ count: blocks, problems: [] });
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

test.each(["X509 CERTIFICATE", "TRUSTED CERTIFICATE"])("a block of type %s is a certificate like others", (type) => {
  expect(parseRoots(rootPem.replaceAll("CERTIFICATE", type))).toEqual({ pem: rootPem, count: 1, problems: [] });
});

test("headers in a block are left out: Envoy would refuse it for them", () => {
  const withHeaders = rootPem.replace("-----\n", "-----\nComment: ours\nMore: yes\n\n");
  expect(parseRoots(withHeaders)).toEqual({ pem: rootPem, count: 1, problems: [] });
});

test("a certificate that was cut off does not take the next one with it", () => {
  const cut = `${rootPem.slice(0, 100)}\n`;
  const problems = ["invalid PEM encoded certificate"];
  expect(parseRoots(cut + rootPem)).toEqual({ pem: rootPem, count: 1, problems });
  expect(parseRoots(rootPem + cut + cut + rootPem + key)).toEqual({
    pem: rootPem + rootPem,
    count: 2,
    problems: [...problems, "invalid PEM block type PRIVATE KEY"],
  });
});

test("a hundred thousand beginnings without an end are read in one pass", () => {
  const startMs = performance.now();
  expect(parseRoots("-----BEGIN CERTIFICATE-----\n".repeat(100_000)).count).toBe(0);
  expect(parseRoots(`${"-----BEGIN CERTIFICATE-----\n".repeat(100_000)}-----END CERTIFICATE-----`).count).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(5000);
});
