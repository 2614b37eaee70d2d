import { type ConfigObject, compareText } from "../../istio-api/config-object.ts";
import type { JwtRule } from "../../istio-api/specs.ts";
import { keySetReason } from "../../istio-api/validation/request-authentication-keys.ts";
import { type TokenKeys, tokenKeysName } from "../../mesh-model/token-keys.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { JwtProvider, JwtRequirement } from "../../protobuf/gen/envoy/extensions/filters/http/jwt_authn/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { FailedPolicies } from "./failed-policies.ts";

type RequestAuthentication = ConfigObject<"RequestAuthentication">;

/**
 * Tokens that are there must be good; whether one must be there is for authorization to say. One filter, or none when there are no rules.
 * Rules whose keys are not there, because they could not be fetched, reject every token; so do those that cannot be built.
 */
export function buildJwtFilters(
  policies: readonly RequestAuthentication[],
  fetched: TokenKeys,
  failed: FailedPolicies,
  type: "sidecar" | "router" = "sidecar",
): readonly HttpFilter[] {
  const providers = policies
    .flatMap((policy) => providersOf(policy, fetched, failed, type))
    .toSorted((a, b) => compareText(a.issuer ?? "", b.issuer ?? ""));
  if (providers.length === 0) return [];
  const names = providers.map((_, index) => `origins-${index}`);
  const typedConfig = pack("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", {
    providers: Object.fromEntries(providers.map((provider, index) => [`origins-${index}`, provider])),
    rules: [{ match: { prefix: "/" }, requires: buildRequirement(names) }],
    // Browsers send no credentials with the question whether they may.
    bypassCorsPreflight: true,
  });
  return [{ name: "envoy.filters.http.jwt_authn", typedConfig }];
}

function providersOf(
  policy: RequestAuthentication,
  fetched: TokenKeys,
  failed: FailedPolicies,
  type: "sidecar" | "router",
): readonly JwtProvider[] {
  const rulesOf = () => policy.spec.jwtRules.map((rule) => [rule.issuer, rule] as const);
  return failed
    .orInstead<readonly (readonly [string, JwtRule | undefined])[]>(policy, rulesOf, rejecting([["", undefined]]))
    .map(([issuer, rule]) => {
      const none = rejectAll(issuer);
      if (rule === undefined) return none;
      return failed.orInstead(policy, () => buildProvider(rule, fetched, type), rejecting(none));
    });
}

function rejecting<Value>(value: Value) {
  return { value, text: "the rule cannot be built and rejects every token that no other one accepts" };
}

/** Takes the tokens of the issuer, of any where that is not known, from where they usually are, and accepts none. */
function rejectAll(issuer: string): JwtProvider {
  return { ...(issuer !== "" && { issuer }), localJwks: { inlineString: UNKNOWN_KEY } };
}

/** A token of any issuer, or none at all: a bad one is not the same as none. */
function buildRequirement(names: readonly string[]): JwtRequirement {
  const [only = "", ...more] = names;
  if (more.length === 0) return orMissing(only);
  const none: JwtRequirement = { requiresAll: { requirements: names.map(orMissing) } };
  return { requiresAny: { requirements: [...names.map((providerName) => ({ providerName })), none] } };
}

function orMissing(providerName: string): JwtRequirement {
  return { requiresAny: { requirements: [{ providerName }, { allowMissing: {} }] } };
}

/** Claims that are lists written as one text. */
const SPACE_DELIMITED = ["permission", "scope"];

/** Envoy would refuse the whole listener for a key set without keys. */
function keysOf(rule: JwtRule, fetched: TokenKeys): string {
  const name = tokenKeysName(rule);
  const keys = name === undefined ? rule.jwks : fetched.get(name);
  return keys !== undefined && keySetReason(keys) === undefined ? keys : UNKNOWN_KEY;
}

function buildProvider(rule: JwtRule, fetched: TokenKeys, type: "sidecar" | "router"): JwtProvider {
  const { issuer, audiences, fromHeaders, fromParams, fromCookies } = rule;
  const claims = new Set([...SPACE_DELIMITED, ...rule.spaceDelimitedClaims]);
  return {
    ...(issuer !== "" && { issuer }),
    ...(audiences.length > 0 && { audiences }),
    localJwks: { inlineString: keysOf(rule, fetched) },
    ...(fromHeaders.length > 0 && {
      fromHeaders: fromHeaders.map(({ name, prefix }) => ({ name, ...(prefix !== "" && { valuePrefix: prefix }) })),
    }),
    ...(fromParams.length > 0 && { fromParams }),
    ...(fromCookies.length > 0 && { fromCookies }),
    ...(rule.forwardOriginalToken && { forward: true }),
    ...(rule.outputPayloadToHeader !== "" && { forwardPayloadHeader: rule.outputPayloadToHeader }),
    ...(rule.outputClaimToHeaders.length > 0 && {
      claimToHeaders: rule.outputClaimToHeaders.map(({ header, claim }) => ({ headerName: header, claimName: claim })),
    }),
    payloadInMetadata: "payload",
    // Routes of gateways may be chosen by claims, which are known only now.
    ...(type === "router" && { clearRouteCache: true }),
    normalizePayloadInMetadata: { spaceDelimitedClaims: [...claims].sort(compareText) },
  };
}

/**
 * A key set that rejects every token: a point of the curve P-256 whose x is a hash of `NOTHING_SIGNED`, so that no one can know the private
 * key that belongs to it. A set without keys would not do: Envoy refuses it together with the listener.
 */
export const UNKNOWN_KEY = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      alg: "ES256",
      use: "sig",
      kid: "unknown",
      x: "QEk7czyaWHuFdRgxwCcAIBZ5oSoTWMD4pJmNdtFXO6g",
      y: "btmFKPMtCGxVYoVkuJvF2LopsXmOleM-J4pplZBc55c",
    },
  ],
});

/** The first text with a number at its end whose SHA-256 is the x of a point. */
export const NOTHING_SIGNED = "no token is signed with this key 3";
