import { generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePublicKey } from "./public-key.ts";

const spki = (key: KeyObject) => key.export({ type: "spki", format: "der" });

test.each([
  { what: "P-256", key: generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey },
  { what: "P-384", key: generateKeyPairSync("ec", { namedCurve: "secp384r1" }).publicKey },
  { what: "P-521", key: generateKeyPairSync("ec", { namedCurve: "secp521r1" }).publicKey },
  { what: "secp256k1", key: generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey },
  { what: "RSA", key: generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey },
  { what: "Ed25519", key: generateKeyPairSync("ed25519").publicKey },
])("a $what key is the one that OpenSSL reads", ({ key }) => {
  const parsed = parsePublicKey(spki(key));
  expect(parsed.equals(key)).toBe(true);
  expect(parsed.asymmetricKeyDetails).toEqual(key.asymmetricKeyDetails);
});

test("a point that is not on its curve is refused", () => {
  const der = spki(generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey);
  der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
  expect(() => parsePublicKey(der)).toThrow();
});

test("changed bytes give a key or a throw, never a crash", () => {
  const good = spki(generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey);
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const broken = Buffer.from(good);
      broken[at] = (broken[at] ?? 0) ^ flip;
      try {
        expect(parsePublicKey(broken).type).toBe("public");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(Error);
      }
    }),
  );
});
