import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, type TestCertificate } from "../../../test/support/certs/certificates.ts";
import { revocationList } from "../../../test/support/certs/revocation-list.ts";
import { needs } from "../../../test/support/needs.ts";
import { parseCertificate } from "../../protocol/x509/certificate.ts";
import { encodePrivateKey } from "../../protocol/x509/key-pair.ts";
import { checkMaterial, type MaterialTexts, mayReplaceRoots } from "./signing-material.ts";

let root: TestCertificate;
let middle: TestCertificate;
let signer: TestCertificate;
beforeAll(async () => {
  root = await makeCertificate({ organization: "root" });
  middle = await makeCertificate({ organization: "middle", by: root });
  signer = await makeCertificate({ organization: "signer", by: middle });
});

const texts = (change: Partial<MaterialTexts> = {}): MaterialTexts => ({
  certificate: signer.pem,
  key: signer.keyPem,
  chain: signer.pem + middle.pem,
  root: root.pem,
  ...change,
});
const check = (change: Partial<MaterialTexts> = {}) => checkMaterial(texts(change), new Date());

test("a chain of three levels is taken apart into elements with one newline each", () => {
  const material = check({ chain: `${signer.pem.trimEnd()}\n\n# and\n${middle.pem}\n\n` });
  expect(material.chainPem).toEqual([signer.pem, middle.pem]);
  expect(material.rootPem).toBe(root.pem);
  expect(material.chainHead?.der).toEqual(signer.der);
});

test("a root that signs by itself needs no chain", () => {
  expect(check({ certificate: root.pem, key: root.keyPem, chain: "" }).chainPem).toEqual([]);
});

test.each([
  { form: "PKCS#8", pkcs8: true },
  { form: "SEC 1", pkcs8: false },
])("the key may be in $form", ({ pkcs8 }) => {
  expect(check({ key: encodePrivateKey(signer.keys.privateKey, pkcs8).reveal() }).certificate.isCa).toBe(true);
});

test.each([
  {
    what: "three levels without the chain",
    change: () => ({ chain: "" }),
    code: "broken-chain",
    says: "unknown authority",
  },
  {
    what: "another root",
    change: async () => ({ root: (await makeCertificate({ organization: "root" })).pem }),
    code: "broken-chain",
    says: "cannot verify the cert with the provided root chain and cert pool with error",
  },
  {
    what: "another key",
    change: () => ({ key: middle.keyPem }),
    code: "key-mismatch",
    says: "the cert does not match the key",
  },
  { what: "no key", change: () => ({ key: "nothing" }), code: "bad-key", says: "failed to parse private key PEM" },
  {
    what: "no certificate",
    change: () => ({ certificate: "" }),
    code: "bad-certificate",
    says: "holds no certificate",
  },
  { what: "no root", change: () => ({ root: "" }), code: "bad-certificate", says: "holds no certificate" },
  {
    what: "a broken chain file",
    change: () => ({ chain: "-----BEGIN CERTIFICATE-----" }),
    code: "bad-certificate",
    says: "the certificate chain cannot be parsed",
  },
  {
    what: "a workload's certificate",
    change: async () => leafChange(),
    code: "not-a-ca",
    says: "not authorized to sign other certificates",
  },
  { what: "an expired certificate", change: async () => expiredChange(), code: "broken-chain", says: "has expired" },
])("$what is refused as $code", async ({ change, code, says }) => {
  const changed = await change();
  expect(() => check(changed)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(says) }));
});

async function leafChange(): Promise<Partial<MaterialTexts>> {
  const leaf = await makeCertificate({ organization: "leaf", by: root, isCa: false });
  return { certificate: leaf.pem, key: leaf.keyPem };
}

async function expiredChange(): Promise<Partial<MaterialTexts>> {
  const old = await makeCertificate({ organization: "old", by: root, fromMs: -7_200_000, toMs: -3_600_000 });
  return { certificate: old.pem, key: old.keyPem };
}

describe("revocation lists", () => {
  beforeEach(needs("openssl"));

  test("one of every certificate on the path is enough, one missing is named", () => {
    const crls = [root, middle, signer].map(revocationList);
    expect(() => check({ crl: crls.join("") })).not.toThrow();
    const serial = parseCertificate(middle.der).serial;
    expect(() => check({ crl: `${crls[0]}${crls[2]}` })).toThrow(
      expect.objectContaining({
        code: "missing-crl",
        message: `missing CRL signed by certificates: [serial ${serial}]`,
      }),
    );
  });

  test("a list that is signed by another party of that name does not count", async () => {
    const impostor = await makeCertificate({ organization: "middle" });
    const crl = [root, impostor, signer].map(revocationList).join("");
    expect(() => check({ crl })).toThrow("missing CRL");
  });

  test("an unreadable list is refused", () => {
    expect(() => check({ crl: "-----BEGIN X509 CRL-----" })).toThrow("the CRL file cannot be parsed");
  });
});

describe("whether a reload may change the roots", () => {
  test.each([
    { what: "the same", before: ["a", "b"], after: ["b", "a"], several: false, may: true },
    { what: "one more", before: ["a"], after: ["a", "b"], several: false, may: false },
    { what: "one more, in a mesh of several roots", before: ["a"], after: ["a", "b"], several: true, may: true },
    { what: "one less, in a mesh of several roots", before: ["a", "b"], after: ["b"], several: true, may: true },
    { what: "another", before: ["a"], after: ["b"], several: true, may: false },
  ])("$what: $may", async ({ before, after, several, may }) => {
    const named = new Map([
      ["a", parseCertificate(root.der)],
      ["b", parseCertificate(middle.der)],
    ]);
    const pick = (names: readonly string[]) => names.flatMap((name) => named.get(name) ?? []);
    expect(mayReplaceRoots(pick(before), pick(after), several)).toBe(may);
  });
});
