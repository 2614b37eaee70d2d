import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../testing/create-test-mesh.ts";
import { documents } from "../../testing/test-objects.ts";
import { keySetReason } from "../../validation/request-authentication-keys.ts";
import { selectPolicies } from "../authz/select-policies.ts";
import { buildJwtFilters } from "./build-jwt-filters.ts";
import { NOTHING_SIGNED, UNKNOWN_KEY } from "./unknown-key.ts";

const jwks = '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}]}';

function build(...rules: readonly object[]) {
  const object = { kind: "RequestAuthentication", name: "tokens", spec: { jwtRules: rules } };
  const view = createTestMesh(documents(object)).take().snapshot.view(testNode());
  const { filters, problems } = buildJwtFilters(selectPolicies(view, "RequestAuthentication"));
  return { config: filters[0]?.typedConfig, count: filters.length, problems };
}

test("without rules there is no filter", () => {
  expect(build()).toEqual({ config: undefined, count: 0, problems: [] });
});

test("one issuer: its token or none", () => {
  const provider = {
    issuer: "a",
    localJwks: { inlineString: jwks },
    payloadInMetadata: "payload",
    normalizePayloadInMetadata: { spaceDelimitedClaims: ["permission", "scope"] },
  };
  expect(build({ issuer: "a", jwks })).toMatchObject({
    count: 1,
    config: {
      providers: { "origins-0": provider },
      rules: [{ requires: { requiresAny: { requirements: [{ providerName: "origins-0" }, { allowMissing: {} }] } } }],
      bypassCorsPreflight: true,
    },
  });
});

test("issuers are numbered in the order of their names", () => {
  const { config } = build({ issuer: "b", jwks }, { issuer: "a", jwks });
  expect(config).toMatchObject({ providers: { "origins-0": { issuer: "a" }, "origins-1": { issuer: "b" } } });
});

test.each([
  { rule: { spaceDelimitedClaims: ["roles", "scope"] }, has: ["permission", "roles", "scope"] },
  { rule: {}, has: ["permission", "scope"] },
])("claims of several words: $has", ({ rule, has }) => {
  expect(build({ issuer: "a", jwks, ...rule }).config).toMatchObject({
    providers: { "origins-0": { normalizePayloadInMetadata: { spaceDelimitedClaims: has } } },
  });
});

describe("an issuer whose keys are not at hand", () => {
  test("is told, and its tokens meet a key that nobody has", () => {
    const { config, problems } = build({ issuer: "a", jwksUri: "https://a.example/keys" });
    expect(config).toMatchObject({ providers: { "origins-0": { localJwks: { inlineString: UNKNOWN_KEY } } } });
    expect(problems).toEqual([
      'RequestAuthentication default/tokens has no keys of its own for issuer "a" ' +
        '(jwksUri "https://a.example/keys" is not fetched): its tokens are rejected',
    ]);
  });

  test("that key is a hash, not made from a private one", () => {
    const { keys } = JSON.parse(UNKNOWN_KEY) as { keys: readonly { x: string }[] };
    expect(keys[0]?.x).toBe(createHash("sha256").update(NOTHING_SIGNED).digest("base64url"));
    expect(keySetReason(UNKNOWN_KEY)).toBeUndefined();
  });
});
