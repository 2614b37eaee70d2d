import { checkPrimeSync, type JsonWebKey } from "node:crypto";
import { expect, test } from "vitest";
import { openssl } from "../../../test/support/certs/openssl.ts";
import { needs } from "../../../test/support/needs.ts";
import { generateRsaKey } from "./rsa-key.ts";

const number = (text: string | undefined) => BigInt(`0x${Buffer.from(text ?? "", "base64url").toString("hex")}`);

test.each([2048, 2050, 3072, 4096])("a key of %d bits meets the conditions of FIPS 186-5", async (bits) => {
  const { privateKey, publicKey } = await generateRsaKey(bits);
  const jwk: JsonWebKey = privateKey.export({ format: "jwk" });
  const [n, e, d, p, q] = [jwk.n, jwk.e, jwk.d, jwk.p, jwk.q].map(number) as [bigint, bigint, bigint, bigint, bigint];
  expect(n).toBe(p * q);
  expect(n.toString(2)).toHaveLength(bits);
  expect(e).toBe(65537n);
  for (const prime of [p, q]) {
    expect(checkPrimeSync(prime, { checks: 5 })).toBe(true);
    expect(prime >> BigInt(bits / 2 - 2)).toBe(3n);
    expect((d * e) % (prime - 1n)).toBe(1n);
  }
  expect(p - q > 1n << BigInt(bits / 2 - 100)).toBe(true);
  expect(d > 1n << BigInt(bits / 2)).toBe(true);
  expect(publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: bits, publicExponent: 65537n });
});

test("openssl finds nothing wrong with a key", async (context) => {
  needs("openssl")(context);
  const { privateKey } = await generateRsaKey(2048);
  const pem = privateKey.export({ type: "pkcs1", format: "pem" });
  expect(openssl(["rsa", "-check", "-noout", "-in", "@key.pem"], { "key.pem": pem })).toContain("RSA key ok");
});

test("each key is new", async () => {
  const [one, two] = await Promise.all([generateRsaKey(2048), generateRsaKey(2048)]);
  expect(one.privateKey.equals(two.privateKey)).toBe(false);
});
