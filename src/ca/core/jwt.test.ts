import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseJwt } from "../../protocol/jwt.ts";
import { checkClaims, checkJwtSignature, parseJwks } from "./jwt.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const p256 = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const p384 = generateKeyPairSync("ec", { namedCurve: "secp384r1" });
const p521 = generateKeyPairSync("ec", { namedCurve: "secp521r1" });
const ed = generateKeyPairSync("ed25519");

const jwk = (key: KeyObject, extra: object = {}) => ({ ...key.export({ format: "jwk" }), ...extra });
const keysOf = (...entries: object[]) => parseJwks(JSON.stringify({ keys: entries })) ?? [];
const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

function token(header: object, key: KeyObject, hash: string | null, pss = false): string {
  const signed = `${segment(header)}.${segment({ sub: "x" })}`;
  const options = pss
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { key, dsaEncoding: "ieee-p1363" as const };
  return `${signed}.${sign(hash, Buffer.from(signed), options).toString("base64url")}`;
}

describe("signatures", () => {
  test.each([
    { alg: "RS256", pair: rsa, hash: "sha256" },
    { alg: "RS384", pair: rsa, hash: "sha384" },
    { alg: "RS512", pair: rsa, hash: "sha512" },
    { alg: "PS256", pair: rsa, hash: "sha256", pss: true },
    { alg: "ES256", pair: p256, hash: "sha256" },
    { alg: "ES384", pair: p384, hash: "sha384" },
    { alg: "ES512", pair: p521, hash: "sha512" },
    { alg: "EdDSA", pair: ed, hash: null },
  ])("$alg is verified, and a changed claim is not", async ({ alg, pair, hash, pss }) => {
    const keys = keysOf(jwk(pair.publicKey, { kid: "k" }));
    const good = token({ alg, kid: "k" }, pair.privateKey, hash, pss);
    expect(await checkJwtSignature(parseJwt(good), keys)).toBe("valid");
    const [header, , signature] = good.split(".");
    const forged = `${header}.${segment({ sub: "admin" })}.${signature}`;
    expect(await checkJwtSignature(parseJwt(forged), keys)).toBe("invalid");
  });

  test.each(["none", "HS256", "", "ES256K"])("algorithm %j is never accepted", async (alg) => {
    const signed = `${segment({ alg })}.${segment({})}`;
    // The classic confusion: the public key taken as an HMAC secret.
    const secret = rsa.publicKey.export({ type: "spki", format: "pem" });
    const mac = createHmac("sha256", secret).update(signed).digest("base64url");
    expect(await checkJwtSignature(parseJwt(`${signed}.${mac}`), keysOf(jwk(rsa.publicKey)))).toBe(
      "unsupported-algorithm",
    );
  });

  test("a key of the wrong type or curve, or for another algorithm, does not count", async () => {
    const es256 = parseJwt(token({ alg: "ES256" }, p256.privateKey, "sha256"));
    expect(await checkJwtSignature(es256, keysOf(jwk(rsa.publicKey), jwk(p384.publicKey)))).toBe("invalid");
    const rs256 = parseJwt(token({ alg: "RS256" }, rsa.privateKey, "sha256"));
    expect(await checkJwtSignature(rs256, keysOf(jwk(rsa.publicKey, { alg: "RS512" })))).toBe("invalid");
    expect(await checkJwtSignature(rs256, keysOf(jwk(rsa.publicKey, { alg: "RS256" })))).toBe("valid");
  });

  test("a key that the list does not have is unknown, not invalid", async () => {
    const jwt = parseJwt(token({ alg: "RS256", kid: "new" }, rsa.privateKey, "sha256"));
    expect(await checkJwtSignature(jwt, keysOf(jwk(rsa.publicKey, { kid: "old" })))).toBe("unknown-key");
    expect(await checkJwtSignature(jwt, keysOf(jwk(rsa.publicKey)))).toBe("valid");
  });
});

describe("key lists", () => {
  test("keys for encryption, of unknown kinds, and weak ones are skipped", () => {
    const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
    const entries = [jwk(rsa.publicKey, { use: "enc" }), { kty: "oct", k: "AA" }, { kty: "?" }, null, 1, jwk(weak)];
    expect(keysOf(...(entries as object[]), jwk(p256.publicKey, { use: "sig" }))).toHaveLength(1);
  });

  test.each(["", "{}", "[]", '{"keys":{}}', "null", "<html>"])("%j is not a list", (text) => {
    expect(parseJwks(text)).toBeUndefined();
  });

  test("a private key in the list is used as its public half only", () => {
    expect(keysOf(jwk(p256.privateKey))[0]?.key.type).toBe("public");
  });
});

describe("claims", () => {
  const now = new Date("2026-01-01T00:00:00Z");
  const seconds = now.getTime() / 1000;
  const rules = { issuer: "iss", audiences: ["istio-ca", "other"], trustDomain: "t@d" };
  const good = { iss: "iss", aud: ["istio-ca"], exp: seconds + 60, sub: "system:serviceaccount:ns:sa" };

  test.each([
    { what: "a list of audiences", claims: {} },
    { what: "an audience as a plain string", claims: { aud: "other" } },
    { what: "a start within five minutes", claims: { nbf: seconds + 299 } },
  ])("$what is accepted", ({ claims }) => {
    expect(checkClaims({ ...good, ...claims }, rules, now)).toEqual({ ok: true, identity: "spiffe://t.d/ns/ns/sa/sa" });
  });

  test("any audience is accepted when the rule names none", () => {
    expect(checkClaims({ ...good, aud: "x" }, { ...rules, audiences: [] }, now).ok).toBe(true);
  });

  test.each([
    { claims: { iss: "other" }, reason: "the token has another issuer" },
    { claims: { iss: undefined }, reason: "the token has another issuer" },
    { claims: { exp: seconds }, reason: "the token has expired" },
    { claims: { exp: undefined }, reason: "the token has no expiry" },
    { claims: { nbf: seconds + 301 }, reason: "the token is not valid yet" },
    { claims: { aud: "x" }, reason: "invalid audiences" },
    { claims: { aud: undefined }, reason: "invalid audiences" },
    { claims: { sub: "system:serviceaccount:x" }, reason: "invalid sub" },
    { claims: { sub: "system:serviceaccount:a:b:c" }, reason: "invalid sub" },
    { claims: { sub: "system:serviceaccount::b" }, reason: "invalid sub" },
    { claims: { sub: "user:a:b:c" }, reason: "invalid sub" },
    { claims: { sub: 5 }, reason: "invalid sub" },
    ...["a/sa/admin:b", "a:b/c", "a:..", ".:b", "a:b?c", "a:b%2Fc", "a:b\n", "a:b c", "a:\u00fc"].map((names) => ({
      claims: { sub: `system:serviceaccount:${names}` },
      reason: `invalid sub ${JSON.stringify(`system:serviceaccount:${names}`)}: namespace and service account may have letters, digits, '.', '_' and '-'`,
    })),
    { claims: { sub: undefined }, reason: "invalid sub" },
  ])("$claims is refused: $reason", ({ claims, reason }) => {
    expect(checkClaims({ ...good, ...claims }, rules, now)).toEqual({ ok: false, reason });
  });
});
