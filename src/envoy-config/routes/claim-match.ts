import type { HttpMatch, StringMatch } from "../../istio-api/specs/virtual-service.ts";
import type { MetadataMatcher, ValueMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { buildStringMatcher } from "./string-match.ts";

const PREFIX = "@request.auth.claims";

/** Spelled as a header, it means a claim of the request's token. */
export function isClaim(header: string): boolean {
  return header.toLowerCase().startsWith(PREFIX);
}

/** Conditions on claims, which are among the metadata of a request whose token was checked. */
export function buildClaims({ headers, withoutHeaders }: HttpMatch): readonly MetadataMatcher[] {
  const wanted = Object.entries(headers).filter(([name]) => isClaim(name));
  const unwanted = Object.entries(withoutHeaders).filter(([name]) => isClaim(name));
  return [
    ...wanted.map(([name, match]) => buildClaim(name, match)),
    ...unwanted.map(([name, match]) => ({ ...buildClaim(name, match), invert: true })),
  ];
}

function buildClaim(name: string, match: StringMatch): MetadataMatcher {
  return {
    filter: "envoy.filters.http.jwt_authn",
    path: ["payload", ...claimPath(name)].map((key) => ({ key })),
    value: buildValue(match),
  };
}

/** `.a.b` and `[a][b]` are the claim `b` of the claim `a`. */
function claimPath(name: string): readonly string[] {
  const rest = name.slice(PREFIX.length);
  return rest.startsWith("[") ? rest.slice(1, -1).split("][") : rest.slice(1).split(".");
}

/** A claim is a text or a list of them. */
function buildValue(match: StringMatch): ValueMatcher {
  const stringMatch = buildStringMatcher(match);
  if (stringMatch === undefined) return { presentMatch: true };
  return { orMatch: { valueMatchers: [{ listMatch: { oneOf: { stringMatch } } }, { stringMatch }] } };
}
