import { compareText } from "../../istio-api/config-object.ts";
import type { HttpMatch, StringMatch } from "../../istio-api/specs.ts";
import type { HeaderMatcher, QueryParameterMatcher, RouteMatch } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { MetadataMatcher, ValueMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { buildStringMatcher, isHeaderSafe, isRegex } from "./envoy-values.ts";

/** What a request must look like. Undefined when no request can: sidecars do not know the claims of tokens that a match may ask for. */
export function buildRouteMatch(match: HttpMatch | undefined, knowsClaims = false): RouteMatch | undefined {
  if (match === undefined) return { prefix: "/" };
  if ((!knowsClaims && Object.keys(match.headers).some(isClaim)) || !isAcceptable(match)) return undefined;
  const claims = knowsClaims ? buildClaims(match) : [];
  const headers = buildHeaders(match);
  const queryParameters = sortedEntries(match.queryParams).map(([name, value]) => buildQueryParameter(name, value));
  return {
    ...buildPath(match.uri),
    caseSensitive: !match.ignoreUriCase,
    ...(headers.length > 0 && { headers }),
    ...(queryParameters.length > 0 && { queryParameters }),
    ...(claims.length > 0 && { dynamicMetadata: claims }),
  };
}

/** Takes every request, so that later routes never see one. */
export function isCatchAll({ prefix, safeRegex, headers, queryParameters, dynamicMetadata }: RouteMatch): boolean {
  const takesAnyPath = prefix === "/" || safeRegex?.regex === ".*";
  return takesAnyPath && (headers ?? queryParameters ?? dynamicMetadata) === undefined;
}

function buildPath(uri: StringMatch | undefined): RouteMatch {
  if (uri?.exact !== undefined) return { path: uri.exact };
  if (uri?.prefix) return { prefix: uri.prefix };
  return uri?.regex && uri.regex !== "*" ? { safeRegex: { regex: uri.regex } } : { prefix: "/" };
}

/** Named headers by the alphabet, then those of the request line. */
function buildHeaders({ headers, withoutHeaders, method, authority, scheme }: HttpMatch): readonly HeaderMatcher[] {
  const named = [
    ...Object.entries(headers)
      .filter(([name]) => !isClaim(name))
      .map(([name, value]) => buildHeader(name, value)),
    ...Object.entries(withoutHeaders)
      .filter(([name]) => !isClaim(name))
      .map(([name, value]) => inverted(buildHeader(name, value))),
  ].sort((a, b) => compareText(a.name ?? "", b.name ?? ""));
  const line = [
    [":method", method],
    [":authority", authority],
    [":scheme", scheme],
  ] as const;
  return [...named, ...line.flatMap(([name, value]) => (value === undefined ? [] : [buildHeader(name, value)]))];
}

function buildHeader(name: string, match: StringMatch): HeaderMatcher {
  const stringMatch = buildStringMatcher(match);
  return stringMatch === undefined ? { name, presentMatch: true } : { name, stringMatch };
}

/** A missing header differs from every value, and must count as such. */
function inverted(matcher: HeaderMatcher): HeaderMatcher {
  return { ...matcher, invertMatch: true, ...(matcher.stringMatch && { treatMissingHeaderAsEmpty: true }) };
}

function buildQueryParameter(name: string, match: StringMatch): QueryParameterMatcher {
  const stringMatch = buildStringMatcher(match);
  return stringMatch === undefined ? { name, presentMatch: true } : { name, stringMatch };
}

function isAcceptable({ uri, method, authority, scheme, headers, withoutHeaders, queryParams }: HttpMatch): boolean {
  const named = [headers, withoutHeaders, queryParams];
  const values = [uri, method, authority, scheme, ...named.flatMap((group) => Object.values(group))];
  return (
    values.every((value) => isRegex(value?.regex)) && isHeaderSafe(...named.flatMap((group) => Object.keys(group)))
  );
}

function sortedEntries<Value>(entries: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(entries).sort(([a], [b]) => compareText(a, b));
}

const PREFIX = "@request.auth.claims";

/** Spelled as a header, it means a claim of the request's token. */
function isClaim(header: string): boolean {
  return header.toLowerCase().startsWith(PREFIX);
}

/** Conditions on claims, which are among the metadata of a request whose token was checked. */
function buildClaims({ headers, withoutHeaders }: HttpMatch): readonly MetadataMatcher[] {
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
