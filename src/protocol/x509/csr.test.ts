import { createPrivateKey } from "node:crypto";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openssl, tryOpenssl } from "../../../test/support/certs/openssl.ts";
import { needs } from "../../../test/support/needs.ts";
import { buildCsr, parseCsr, verifyCsr } from "./csr.ts";
import { encodePrivateKey, generateKeyPair, type KeyOptions, type KeyPair } from "./key-pair.ts";
import { encodePem, parsePem } from "./pem.ts";
import { X509Error } from "./x509-error.ts";

const KINDS: readonly { readonly name: string; readonly key: KeyOptions; readonly signature: string }[] = [
  { name: "RSA 2048", key: { type: "rsa", bits: 2048 }, signature: "sha256WithRSAEncryption" },
  { name: "RSA 3072", key: { type: "rsa", bits: 3072 }, signature: "sha256WithRSAEncryption" },
  { name: "RSA 4096", key: { type: "rsa", bits: 4096 }, signature: "sha256WithRSAEncryption" },
  { name: "P-256", key: { type: "ecdsa", curve: "P256" }, signature: "ecdsa-with-SHA256" },
  { name: "P-384", key: { type: "ecdsa", curve: "P384" }, signature: "ecdsa-with-SHA384" },
];
const HOST = "spiffe://cluster.local/ns/default/sa/web";

let ec: KeyPair;
beforeAll(async () => {
  ec = await generateKeyPair({ type: "ecdsa", curve: "P256" });
});

describe("openssl agrees", () => {
  beforeEach(needs("openssl"));

  test.each(KINDS)("with a request of a $name key", async ({ key, signature }) => {
    const csr = await buildCsr(await generateKeyPair(key), { hosts: [HOST] });
    const { status, output } = tryOpenssl(["req", "-verify", "-noout", "-text", "-in", "@csr"], { csr });
    expect(status).toBe(0);
    expect(output).toMatch(/verify OK/);
    expect(output).toContain(`Signature Algorithm: ${signature}`);
    expect(output).toContain("Version: 1 (0x0)");
    expect(output).toMatch(
      /X509v3 Subject Alternative Name: critical\s+URI:spiffe:\/\/cluster\.local\/ns\/default\/sa\/web\n/,
    );
    expect(output).toMatch(/Subject: O ?=\s*\n/);
    if (key.type === "rsa") expect(output).toContain("Exponent: 65537 (0x10001)");
  });

  test("that the empty organization is a zero-length PrintableString and the attribute list holds one entry", async () => {
    const csr = await buildCsr(ec, { hosts: [HOST] });
    const shown = openssl(["asn1parse", "-in", "@csr"], { csr });
    expect(shown).toMatch(/l= +0 prim: PRINTABLESTRING/);
    expect(shown.match(/:Extension Request/g)).toHaveLength(1);
    expect(shown.match(/:X509v3 /g)).toHaveLength(1);
  });

  test("with our reading of its own requests, their names and common name", async () => {
    const key = encodePrivateKey(ec.privateKey, true).reveal();
    const args = [
      "req",
      "-new",
      "-key",
      "@key",
      "-subj",
      "/CN=foo/O=bar",
      "-addext",
      "subjectAltName=DNS:a.b,URI:spiffe://x/ns/y/sa/z",
    ];
    const parsed = await verifyCsr(openssl(args, { key }));
    expect(parsed.hasCommonName).toBe(true);
    expect(parsed.names).toEqual([
      { kind: "dns", value: "a.b" },
      { kind: "uri", value: "spiffe://x/ns/y/sa/z" },
    ]);
    expect(parsed.publicKey.equals(ec.publicKey)).toBe(true);
  });

  test("with our reading of an Ed25519 request", async () => {
    const key = openssl(["genpkey", "-algorithm", "ed25519"]);
    const parsed = await verifyCsr(openssl(["req", "-new", "-key", "@key", "-subj", "/"], { key }));
    expect(parsed).toMatchObject({ hasCommonName: false, names: [] });
    expect(parsed.publicKey.asymmetricKeyType).toBe("ed25519");
  });
});

test("a request is read back as it was built", async () => {
  const parsed = await verifyCsr(await buildCsr(ec, { hosts: [HOST, "b", "127.0.0.1"], name: { commonName: "x" } }));
  expect(parsed.names.map((name) => name.kind)).toEqual(["uri", "dns", "ip"]);
  expect(parsed.extensions).toHaveLength(1);
  expect(parsed.extensions[0]?.critical).toBe(true);
  expect(parsed.hasCommonName).toBe(true);
});

test("a request signed by another key is refused", async () => {
  const other = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  const csr = await buildCsr({ publicKey: ec.publicKey, privateKey: other.privateKey }, { hosts: [HOST] });
  await expect(verifyCsr(csr)).rejects.toMatchObject({
    code: "bad-csr",
    message: "certificate signing request has an invalid signature",
  });
  expect(parseCsr(csr).publicKeyDer).toEqual(ec.publicKey.export({ type: "spki", format: "der" }));
});

test.each([
  { what: "plain text", pem: "hello", message: "certificate signing request is not properly encoded" },
  {
    what: "another PEM type",
    pem: encodePem("CERTIFICATE", Buffer.of(1)),
    message: "certificate signing request is not properly encoded",
  },
  {
    what: "a broken PEM block",
    pem: "-----BEGIN CERTIFICATE REQUEST-----",
    message: "certificate signing request is not properly encoded",
  },
  {
    what: "bytes that are not a request",
    pem: encodePem("CERTIFICATE REQUEST", Buffer.from("3003020100", "hex")),
    message: "failed to parse X.509 certificate signing request",
  },
])("$what is refused", async ({ pem, message }) => {
  await expect(verifyCsr(pem)).rejects.toMatchObject({ code: "bad-csr", message });
  expect(() => parseCsr(pem)).toThrow(expect.objectContaining({ code: "bad-csr", message }));
});

test("any changed byte of a request is a bad-csr error, never another throw", async () => {
  const der = parsePem(await buildCsr(ec, { hosts: [HOST] }))[0]?.der ?? Buffer.alloc(0);
  await fc.assert(
    fc.asyncProperty(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const broken = Buffer.from(der);
      broken[at] = (broken[at] ?? 0) ^ flip;
      await expect(verifyCsr(encodePem("CERTIFICATE REQUEST", broken))).rejects.toThrow(X509Error);
    }),
    { numRuns: 500 },
  );
});

test.each([
  { key: { type: "rsa", bits: 2048 } as const, pkcs8: false, begin: "RSA PRIVATE KEY" },
  { key: { type: "rsa", bits: 2048 } as const, pkcs8: true, begin: "PRIVATE KEY" },
  { key: { type: "ecdsa", curve: "P256" } as const, pkcs8: false, begin: "EC PRIVATE KEY" },
  { key: { type: "ecdsa", curve: "P384" } as const, pkcs8: true, begin: "PRIVATE KEY" },
])("a $key.type key with pkcs8=$pkcs8 is written as $begin", async ({ key, pkcs8, begin }) => {
  const pair = await generateKeyPair(key);
  const pem = encodePrivateKey(pair.privateKey, pkcs8);
  expect(parsePem(pem.reveal()).map((block) => block.type)).toEqual([begin]);
  expect(createPrivateKey(pem.reveal()).equals(pair.privateKey)).toBe(true);
  expect(`${pem} ${JSON.stringify({ pem })}`).not.toContain("PRIVATE");
});
