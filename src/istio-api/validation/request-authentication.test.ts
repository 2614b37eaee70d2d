import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { decodeObject } from "../decode/decode-object.ts";

function problemsOf(spec: unknown): readonly string[] {
  const metadata = { name: "x", namespace: "prod" };
  const document = { apiVersion: "security.istio.io/v1", kind: "RequestAuthentication", metadata, spec };
  return decodeObject(document, { defaultNamespace: "default" }).problems.map(
    ({ path, message }) => `${formatPath(path).replace(/^spec\.?/, "")}: ${message}`,
  );
}

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" });
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const ED25519 = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
const setOf = (...keys: readonly object[]) => JSON.stringify({ keys });
const UNUSABLE = ".jwks: jwks parse error: no key that can be used (RSA, EC P-256, P-384, P-521, OKP Ed25519, oct)";

test.each<{ rule: object; says: string[] }>([
  { rule: { issuer: "a" }, says: [] },
  { rule: { jwksUri: "https://login.example/keys" }, says: [] },
  { rule: { issuer: "a", timeout: "0s" }, says: [".timeout: duration must be greater than 1ms"] },
  {
    rule: { issuer: "a", outputClaimToHeaders: [{ header: "a.b", claim: "c" }] },
    says: [".outputClaimToHeaders[0].header: header name a.b is not a valid header name"],
  },
  { rule: {}, says: [": issuer or jwksUri must be non-empty string"] },
  { rule: { issuer: "a", audiences: ["b", ""] }, says: [".audiences[1]: audience must be non-empty string"] },
  { rule: { issuer: "a", jwksUri: "login" }, says: [".jwksUri: login is not an http or https URL"] },
  { rule: { issuer: "a", jwksUri: "file:///keys" }, says: [".jwksUri: file:///keys is not an http or https URL"] },
  { rule: { issuer: "a", jwks: setOf({ kty: "RSA" }, RSA) }, says: [] },
  { rule: { issuer: "a", jwks: setOf({ ...RSA, alg: "RS256" }) }, says: [] },
  { rule: { issuer: "a", jwks: setOf(EC) }, says: [] },
  { rule: { issuer: "a", jwks: setOf(ED25519) }, says: [] },
  { rule: { issuer: "a", jwks: setOf({ kty: "oct", alg: "HS256", k: "c2VjcmV0" }) }, says: [] },
  { rule: { issuer: "a", jwks: setOf() }, says: [".jwks: a key set without keys accepts no token"] },
  { rule: { issuer: "a", jwks: setOf({ kty: "RSA" }) }, says: [UNUSABLE] },
  { rule: { issuer: "a", jwks: setOf({ ...RSA, alg: "ES256" }) }, says: [UNUSABLE] },
  { rule: { issuer: "a", jwks: setOf({ ...EC, crv: "secp256k1" }) }, says: [UNUSABLE] },
  { rule: { issuer: "a", jwks: setOf({ kty: "oct" }) }, says: [UNUSABLE] },
  { rule: { issuer: "a", jwks: '{"keys":[null,1]}' }, says: [UNUSABLE] },
  { rule: { issuer: "a", jwks: "{" }, says: [".jwks: jwks parse error: not JSON"] },
  { rule: { issuer: "a", jwks: "{}" }, says: [".jwks: jwks parse error: no list of keys"] },
  { rule: { issuer: "a", jwks: "null" }, says: [".jwks: jwks parse error: no list of keys"] },
  {
    rule: { issuer: "a", fromHeaders: [{ prefix: "Tok " }] },
    says: [".fromHeaders[0].name: location header name must be non-empty string"],
  },
  {
    rule: { issuer: "a", fromHeaders: [{ name: "a b" }] },
    says: [".fromHeaders[0].name: header name a b is not a valid header name"],
  },
  { rule: { issuer: "a", fromParams: [""] }, says: [".fromParams[0]: location query must be non-empty string"] },
  { rule: { issuer: "a", fromCookies: [""] }, says: [".fromCookies[0]: cookie name must be non-empty string"] },
  {
    rule: { issuer: "a", outputPayloadToHeader: "a:b" },
    says: [".outputPayloadToHeader: header name a:b is not a valid header name"],
  },
  {
    rule: { issuer: "a", outputClaimToHeaders: [{ header: "x" }] },
    says: [".outputClaimToHeaders[0]: outputClaimToHeader header and claim value must be non-empty string"],
  },
])("$rule: $says", ({ rule, says }) => {
  expect(problemsOf({ jwtRules: [rule] })).toEqual(says.map((text) => `jwtRules[0]${text}`));
});
