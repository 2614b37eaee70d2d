import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openssl } from "../../../test/support/certs/openssl.ts";
import { needs } from "../../../test/support/needs.ts";
import { certificatePublicKey, isIssuedBy, parseCertificate, parsePemCertificate } from "./certificate.ts";
import { buildCertificate, certificateExtension, keyIdentifier } from "./certificate-builder.ts";
import { generateKeyPair, type KeyOptions, type KeyPair } from "./key-pair.ts";
import { buildName } from "./name.ts";
import { encodePem } from "./pem.ts";
import { verifyChain } from "./verify-chain.ts";
import { X509Error } from "./x509-error.ts";

const HOUR = 3_600_000;
const NOW = new Date("2026-11-15T12:00:00Z");
const P256: KeyOptions = { type: "ecdsa", curve: "P256" };

interface Issued {
  readonly keys: KeyPair;
  readonly der: Buffer;
  readonly pem: string;
  readonly name: Buffer;
}

async function issue(options: {
  readonly name: string;
  readonly by?: Issued;
  readonly isCa?: boolean;
  readonly key?: KeyOptions;
  readonly from?: Date;
  readonly to?: Date;
  readonly hosts?: readonly string[];
}): Promise<Issued> {
  const keys = await generateKeyPair(options.key ?? P256);
  const publicKeyDer = keys.publicKey.export({ type: "spki", format: "der" });
  const name = buildName({ organization: options.name });
  const isCa = options.isCa ?? true;
  const der = await buildCertificate(
    {
      issuer: options.by?.name ?? name,
      subject: name,
      serial: randomBytes(16),
      notBefore: options.from ?? new Date(NOW.getTime() - HOUR),
      notAfter: options.to ?? new Date(NOW.getTime() + HOUR),
      publicKeyDer,
      extensions: [
        isCa ? certificateExtension.caKeyUsage() : certificateExtension.leafKeyUsage(),
        certificateExtension.serverAndClientAuth(),
        certificateExtension.basicConstraints(isCa),
        certificateExtension.subjectKeyId(keyIdentifier(publicKeyDer)),
        ...(options.hosts === undefined ? [] : [certificateExtension.subjectAltName(options.hosts)]),
      ],
    },
    (options.by?.keys ?? keys).privateKey,
  );
  return { keys, der, pem: encodePem("CERTIFICATE", der), name };
}

let root: Issued;
let intermediate: Issued;
let leaf: Issued;
beforeAll(async () => {
  root = await issue({ name: "root" });
  intermediate = await issue({ name: "intermediate", by: root });
  leaf = await issue({ name: "leaf", by: intermediate, isCa: false, hosts: ["spiffe://td/ns/n/sa/s"] });
});

test("a certificate is read back as it was built", () => {
  const parsed = parseCertificate(leaf.der);
  expect(parsed).toMatchObject({
    notBefore: new Date(NOW.getTime() - HOUR),
    notAfter: new Date(NOW.getTime() + HOUR),
    isCa: false,
    names: [{ kind: "uri", value: "spiffe://td/ns/n/sa/s" }],
    subject: leaf.name,
    issuer: intermediate.name,
  });
  expect(certificatePublicKey(parsed).equals(leaf.keys.publicKey)).toBe(true);
  expect(parseCertificate(root.der)).toMatchObject({ isCa: true, names: [] });
});

test.each([
  { what: "over an intermediate", given: () => [intermediate], roots: () => [root], ok: true },
  { what: "without the intermediate", given: () => [], roots: () => [root], ok: false },
  { what: "with the intermediate trusted itself", given: () => [], roots: () => [intermediate], ok: true },
  { what: "with the leaf trusted itself", given: () => [], roots: () => [leaf], ok: true },
  { what: "to no root", given: () => [intermediate], roots: () => [], ok: false },
])("the path $what is found: $ok", ({ given, roots, ok }) => {
  const parse = (all: readonly Issued[]) => all.map((one) => parseCertificate(one.der));
  expect(verifyChain(parseCertificate(leaf.der), parse(given()), parse(roots()), NOW).ok).toBe(ok);
});

test("a signature of another key under the issuer's name is not a path", async () => {
  const impostor = await issue({ name: "root" });
  expect(isIssuedBy(parseCertificate(intermediate.der), parseCertificate(impostor.der))).toBe(false);
});

test("a certificate that may not sign ends no path", async () => {
  const notCa = await issue({ name: "not-ca", by: root, isCa: false });
  const under = parseCertificate((await issue({ name: "x", by: notCa })).der);
  const found = verifyChain(under, [parseCertificate(notCa.der)], [parseCertificate(root.der)], NOW);
  expect(found).toEqual({ ok: false, reason: "certificate signed by unknown authority" });
});

test.each([
  { what: "expired", from: -2 * HOUR, to: -HOUR, reason: /has expired \(at 2026-11-15T11:00:00.000Z\)/ },
  { what: "not yet valid", from: HOUR, to: 2 * HOUR, reason: /not yet valid \(from 2026-11-15T13:00:00.000Z\)/ },
])("a leaf that is $what has no path", async ({ from, to, reason }) => {
  const at = (offset: number) => new Date(NOW.getTime() + offset);
  const stale = await issue({ name: "s", by: root, isCa: false, from: at(from), to: at(to) });
  const found = verifyChain(parseCertificate(stale.der), [], [parseCertificate(root.der)], NOW);
  expect(found).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
});

test("certificates that sign each other in a ring are given up", async () => {
  const first = await issue({ name: "ring" });
  const chain = [first, await issue({ name: "ring", by: first }), await issue({ name: "ring", by: first })];
  const parsed = chain.map((one) => parseCertificate(one.der));
  const [start] = parsed;
  if (start === undefined) throw new Error("no certificate");
  expect(verifyChain(start, parsed, [parseCertificate(root.der)], NOW).ok).toBe(false);
});

test("any changed byte gives a certificate or a coded error, never another throw", () => {
  fc.assert(
    fc.property(fc.nat(leaf.der.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const broken = Buffer.from(leaf.der);
      broken[at] = (broken[at] ?? 0) ^ flip;
      try {
        expect(isIssuedBy(parseCertificate(broken), parseCertificate(intermediate.der))).toBe(false);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(X509Error);
      }
    }),
    { numRuns: 500 },
  );
});

test("a text without a certificate says so", () => {
  expect(() => parsePemCertificate("nothing")).toThrow("no PEM certificate found");
});

describe("openssl agrees", () => {
  beforeEach(needs("openssl"));

  test.each([{ type: "rsa", bits: 2048 } as const, P256, { type: "ecdsa", curve: "P384" } as const])(
    "that a chain signed by a $type key verifies",
    async (key) => {
      const top = await issue({ name: "top", key });
      const below = await issue({ name: "below", by: top, isCa: false, hosts: ["spiffe://td/ns/n/sa/s"] });
      const at = `${NOW.getTime() / 1000}`;
      const args = ["verify", "-attime", at, "-CAfile", "@root", "@leaf"];
      expect(openssl(args, { root: top.pem, leaf: below.pem })).toMatch(/leaf: OK/);
    },
  );

  test("with the serial, the dates and the names", () => {
    const parsed = parseCertificate(leaf.der);
    const text = openssl(["x509", "-noout", "-text", "-serial", "-dates", "-in", "@leaf"], { leaf: leaf.pem });
    expect(text.toLowerCase()).toMatch(new RegExp(`serial=0*${parsed.serial}\n`));
    expect(text).toContain("notBefore=Nov 15 11:00:00 2026 GMT");
    expect(text).toContain("notAfter=Nov 15 13:00:00 2026 GMT");
    expect(text).toContain("Version: 3 (0x2)");
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment\n/);
    expect(text).toMatch(/Extended Key Usage: ?\s+TLS Web Server Authentication, TLS Web Client Authentication\n/);
    expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE\n/);
  });

  test("with our reading of its own certificate and key identifier", () => {
    const made = openssl(
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "@key",
        "-days",
        "3",
      ].concat(["-subj", "/O=elsewhere", "-addext", "subjectAltName=IP:127.0.0.1,email:a@b.c"]),
      { key: "" },
    );
    const parsed = parsePemCertificate(made);
    expect(parsed.isCa).toBe(true);
    expect(parsed.subjectKeyId).toEqual(keyIdentifier(parsed.publicKeyDer));
    expect(parsed.names).toEqual([
      { kind: "ip", value: "127.0.0.1" },
      { kind: "email", value: "a@b.c" },
    ]);
    expect(isIssuedBy(parsed, parsed)).toBe(true);
  });
});
