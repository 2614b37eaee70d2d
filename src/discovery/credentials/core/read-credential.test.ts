import { beforeAll, expect, test } from "vitest";
import { makeCertificate } from "../../../../test/support/certs/certificates.ts";
import { encodePem } from "../../../protocol/x509/pem.ts";
import { readKeyPair, readRoots } from "./read-credential.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const NOW = Date.now();
let pair = { cert: "", key: "" };
let otherKey = "";
let expired = { cert: "", key: "" };

beforeAll(async () => {
  const [one, two, old] = await Promise.all([
    makeCertificate({ isCa: false, hosts: ["a.example"] }),
    makeCertificate(),
    makeCertificate({ fromMs: -7_200_000, toMs: -3_600_000 }),
  ]);
  pair = { cert: base64(one.pem), key: base64(one.keyPem) };
  otherKey = base64(two.keyPem);
  expired = { cert: base64(old.pem), key: base64(old.keyPem) };
});

test("a Secret of type tls and a generic one give the same pair, the generic names first", () => {
  const tls = readKeyPair({ "tls.crt": pair.cert, "tls.key": pair.key }, NOW);
  const generic = readKeyPair({ ...pair, "tls.crt": expired.cert, "tls.key": expired.key }, NOW);
  expect(tls).toEqual(generic);
  expect(tls).toEqual({
    message: {
      tlsCertificate: { certificateChain: { inlineBytes: pair.cert }, privateKey: { inlineBytes: pair.key } },
    },
  });
});

test("a staple and a revocation list go along", () => {
  const staple = base64("staple");
  const withStaple = readKeyPair({ "tls.crt": pair.cert, "tls.key": pair.key, "tls.ocsp-staple": staple }, NOW);
  expect(withStaple).toMatchObject({ message: { tlsCertificate: { ocspStaple: { inlineBytes: staple } } } });
  const crl = base64(encodePem("X509 CRL", Buffer.from("list")));
  const message = { validationContext: { trustedCa: { inlineBytes: pair.cert }, crl: { inlineBytes: crl } } };
  expect(readRoots({ cacert: pair.cert, crl }, NOW)).toEqual({ message });
  expect(readRoots({ "ca.crt": pair.cert, "ca.crl": crl }, NOW)).toEqual({ message });
});

test("what a proxy would refuse is refused with the key that is wrong, never with its value", () => {
  const problems = [
    readKeyPair({}, NOW),
    readKeyPair({ "tls.crt": "", "tls.key": "" }, NOW),
    readKeyPair({ "tls.crt": base64("text"), "tls.key": pair.key }, NOW),
    readKeyPair({ "tls.crt": pair.cert, "tls.key": base64("s3cret") }, NOW),
    readKeyPair({ "tls.crt": pair.cert, "tls.key": otherKey }, NOW),
    readRoots({ cert: pair.cert }, NOW),
    readRoots({ cacert: pair.cert, crl: base64("x") }, NOW),
  ].map((reading) => ("problem" in reading ? reading.problem : "none"));
  expect(problems).toEqual([
    "expected cert and key, or tls.crt and tls.key; found none of the known keys",
    "tls.crt and tls.key are there, but empty",
    "tls.crt: no certificate in PEM form",
    "tls.key: not a PEM private key (PKCS#1, SEC 1 or PKCS#8, not encrypted)",
    "tls.key: not the private key of the first certificate",
    "expected cacert, or ca.crt; found cert",
    "crl: no revocation list in PEM form (BEGIN X509 CRL)",
  ]);
});

test("an expired certificate is sent, with a warning", () => {
  expect(readKeyPair(expired, NOW)).toMatchObject({
    warning: expect.stringContaining("cert: the certificate expired at"),
  });
});
