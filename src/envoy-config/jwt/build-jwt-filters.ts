import { type ConfigObject, compareText } from "../../istio-api/config-object.ts";
import type { JwtRule } from "../../istio-api/specs/security.ts";
import { keySetReason } from "../../istio-api/validation/request-authentication-keys.ts";
import { type TokenKeys, tokenKeysName } from "../../mesh-model/token-keys.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { JwtProvider, JwtRequirement } from "../../protobuf/gen/envoy/extensions/filters/http/jwt_authn/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { UNKNOWN_KEY } from "./unknown-key.ts";

/**
 * Tokens that are there must be good; whether one must be there is for authorization to say. One filter, or none when there are no rules.
 * Rules whose keys are not there, because they could not be fetched, reject every token.
 */
export function buildJwtFilters(
  policies: readonly ConfigObject<"RequestAuthentication">[],
  fetched: TokenKeys,
  type: "sidecar" | "router" = "sidecar",
): readonly HttpFilter[] {
  const rules = policies.flatMap(({ spec }) => spec.jwtRules).toSorted((a, b) => compareText(a.issuer, b.issuer));
  if (rules.length === 0) return [];
  const names = rules.map((_, index) => `origins-${index}`);
  const typedConfig = pack("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", {
    providers: Object.fromEntries(rules.map((rule, index) => [`origins-${index}`, buildProvider(rule, fetched, type)])),
    rules: [{ match: { prefix: "/" }, requires: buildRequirement(names) }],
    // Browsers send no credentials with the question whether they may.
    bypassCorsPreflight: true,
  });
  return [{ name: "envoy.filters.http.jwt_authn", typedConfig }];
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
