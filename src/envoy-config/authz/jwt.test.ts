import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents } from "../../../test/support/mesh-model/test-objects.ts";
import { keySetReason } from "../../istio-api/validation/request-authentication-keys.ts";
import { NO_TOKEN_KEYS, type TokenKeys } from "../../mesh-model/token-keys.ts";
import { createResourceSource } from "../create-resource-source.ts";
import { createFailedPolicies } from "./failed-policies.ts";
import { buildJwtFilters, NOTHING_SIGNED, UNKNOWN_KEY } from "./jwt.ts";
import { selectPolicies } from "./rbac.ts";

const jwks = '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}]}';

const objectOf = (...jwtRules: readonly object[]) =>
  documents({ kind: "RequestAuthentication", name: "tokens", spec: { jwtRules } });

function build(...rules: readonly object[]) {
  return buildWith(NO_TOKEN_KEYS, ...rules);
}

function buildWith(keys: TokenKeys, ...rules: readonly object[]) {
  const view = createTestMesh(objectOf(...rules))
    .take()
    .snapshot.view(testNode());
  const filters = buildJwtFilters(selectPolicies(view, "RequestAuthentication"), keys, createFailedPolicies());
  return { config: filters[0]?.typedConfig, count: filters.length };
}

test("without rules there is no filter", () => {
  expect(build()).toEqual({ config: undefined, count: 0 });
});

test("of two objects that know one issuer, the workload's own comes before that of the root namespace", () => {
  const object = (namespace: string, audience: string) => ({
    kind: "RequestAuthentication",
    name: audience,
    namespace,
    spec: { jwtRules: [{ issuer: "a", jwks, audiences: [audience] }] },
  });
  const objects = documents(object("istio-system", "for-all"), object("default", "own"));
  const view = createTestMesh(objects).take().snapshot.view(testNode());
  const [filter] = buildJwtFilters(
    selectPolicies(view, "RequestAuthentication"),
    NO_TOKEN_KEYS,
    createFailedPolicies(),
  );
  expect(filter?.typedConfig).toMatchObject({
    providers: { "origins-0": { audiences: ["own"] }, "origins-1": { audiences: ["for-all"] } },
  });
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

describe("an issuer whose keys are somewhere else", () => {
  const keys = (inlineString: string) => ({ providers: { "origins-0": { localJwks: { inlineString } } } });
  test.each([
    { rule: { issuer: "a", jwksUri: "https://a.example/keys" }, name: "keys https://a.example/keys" },
    { rule: { issuer: "https://a.example" }, name: "issuer https://a.example" },
  ])("gets those that were fetched, and a key that no one has until then: $name", ({ rule, name }) => {
    expect(buildWith(new Map([[name, jwks]]), rule).config).toMatchObject(keys(jwks));
    expect(buildWith(new Map([["keys https://b.example/", jwks]]), rule).config).toMatchObject(keys(UNKNOWN_KEY));
    expect(buildWith(new Map([[name, '{"keys":[]}']]), rule).config).toMatchObject(keys(UNKNOWN_KEY));
  });

  test("does not replace keys that the rule has with it", () => {
    const other = jwks.replace("c2VjcmV0", "b3RoZXI");
    const fetched = new Map([["keys https://a.example/keys", other]]);
    expect(buildWith(fetched, { issuer: "a", jwks, jwksUri: "https://a.example/keys" }).config).toMatchObject(
      keys(jwks),
    );
  });

  test("makes other listeners for those it reaches when its keys change, and for no one else", () => {
    const mesh = createTestMesh(objectOf({ issuer: "a", jwksUri: "https://a.example/keys" }));
    const [near, far] = [testNode(), testNode({ name: "far", namespace: "far", address: "10.10.9.9" })];
    const source = createResourceSource({ onProblem: () => undefined });
    const look = () => {
      const { snapshot } = mesh.take();
      return [near, far].map((node) => (["CDS", "LDS"] as const).map((type) => source.all(snapshot.view(node), type)));
    };
    const [nearBefore, farBefore] = look();
    mesh.setTokenKeys(new Map([["keys https://a.example/keys", jwks]]));
    const [nearAfter, farAfter] = look();
    expect(nearAfter?.map((set, at) => set === nearBefore?.[at])).toEqual([true, false]);
    expect(farAfter?.map((set, at) => set === farBefore?.[at])).toEqual([true, true]);
  });

  test("that key is a hash, not made from a private one", () => {
    const { keys } = JSON.parse(UNKNOWN_KEY) as { keys: readonly { x: string }[] };
    expect(keys[0]?.x).toBe(createHash("sha256").update(NOTHING_SIGNED).digest("base64url"));
    expect(keySetReason(UNKNOWN_KEY)).toBeUndefined();
  });
});
