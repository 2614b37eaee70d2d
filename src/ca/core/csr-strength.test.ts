import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { expect, test } from "vitest";
import { checkKeyStrength } from "./leaf-certificate.ts";

const rsa = (modulusLength: number, publicExponent = 65537): KeyObject =>
  generateKeyPairSync("rsa", { modulusLength, publicExponent }).publicKey;
const ec = (namedCurve: string): KeyObject => generateKeyPairSync("ec", { namedCurve }).publicKey;

test.each([
  { what: "RSA 2048", key: () => rsa(2048) },
  { what: "P-256", key: () => ec("prime256v1") },
  { what: "P-384", key: () => ec("secp384r1") },
  { what: "P-521", key: () => ec("secp521r1") },
  { what: "Ed25519", key: () => generateKeyPairSync("ed25519").publicKey },
])("a $what key is accepted", ({ key }) => {
  expect(() => checkKeyStrength(key())).not.toThrow();
});

test.each([
  { what: "RSA 1024", key: () => rsa(1024), says: "RSA key of 1024 bits, allowed are 2048 to 8192" },
  { what: "RSA with exponent 3", key: () => rsa(2048, 3), says: "public exponent 3" },
  { what: "secp256k1", key: () => ec("secp256k1"), says: "elliptic curve secp256k1" },
  { what: "P-224", key: () => ec("secp224r1"), says: "elliptic curve secp224r1" },
  { what: "Ed448", key: () => generateKeyPairSync("ed448").publicKey, says: "key of type ed448" },
  {
    what: "DSA",
    key: () => generateKeyPairSync("dsa", { modulusLength: 2048, divisorLength: 256 }).publicKey,
    says: "dsa",
  },
])("a $what key is refused, and the error says what is allowed", ({ key, says }) => {
  expect(() => checkKeyStrength(key())).toThrow(
    expect.objectContaining({ code: "CSR_ERROR", message: expect.stringContaining(says) }),
  );
});
