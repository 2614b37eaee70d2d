import { expect, test } from "vitest";
import { decodeObject } from "../decode/decode-object.ts";
import { formatPath } from "../decode/parse-config-text.ts";

function problemsOf(spec: unknown): readonly string[] {
  const metadata = { name: "x", namespace: "prod" };
  const document = { apiVersion: "security.istio.io/v1", kind: "RequestAuthentication", metadata, spec };
  return decodeObject(document, { defaultNamespace: "default" }).problems.map(
    ({ path, message }) => `${formatPath(path).replace(/^spec\.?/, "")}: ${message}`,
  );
}

test.each<{ rule: object; says: string[] }>([
  { rule: { issuer: "a" }, says: [] },
  { rule: { jwksUri: "https://login.example/keys" }, says: [] },
  { rule: {}, says: [": issuer or jwksUri must be non-empty string"] },
  { rule: { issuer: "a", audiences: ["b", ""] }, says: [".audiences[1]: audience must be non-empty string"] },
  { rule: { issuer: "a", jwksUri: "login" }, says: [".jwksUri: login is not an http or https URL"] },
  { rule: { issuer: "a", jwksUri: "file:///keys" }, says: [".jwksUri: file:///keys is not an http or https URL"] },
  { rule: { issuer: "a", jwks: '{"keys":[{"kty":"RSA"}]}' }, says: [] },
  { rule: { issuer: "a", jwks: "{" }, says: [".jwks: jwks parse error: not JSON"] },
  { rule: { issuer: "a", jwks: "{}" }, says: [".jwks: jwks parse error: no list of keys"] },
  { rule: { issuer: "a", jwks: "null" }, says: [".jwks: jwks parse error: no list of keys"] },
  { rule: { issuer: "a", jwks: '{"keys":[{}]}' }, says: [".jwks: jwks parse error: a key without kty"] },
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
