import { isJsonObject } from "../../base/json-object.ts";
import type { Route, RouteMatch, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { MetadataMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import type { FractionalPercent } from "../../protobuf/gen/envoy/type/v3.ts";
import { type HeaderMap, matchesHeader, matchesQuery } from "../match/headers.ts";
import { matchesPath } from "../match/path.ts";
import { matchesValue } from "../match/text.ts";

/** What filters found out about a request, by the name of the filter. */
export type Metadata = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface ChosenRoute {
  readonly route: Route;
  readonly index: number;
  /** Of the requests that come so far. */
  readonly share: number;
}

/** The routes that a request may take, in their order: one, or several where only a fraction of the requests is to match. */
export function chooseRoutes(host: VirtualHost, headers: HeaderMap, metadata: Metadata): readonly ChosenRoute[] {
  const chosen: ChosenRoute[] = [];
  let rest = 1;
  for (const [index, route] of (host.routes ?? []).entries()) {
    if (!matchesRoute(route.match ?? {}, headers, metadata)) continue;
    const fraction = fractionOf(route.match?.runtimeFraction?.defaultValue) ?? 1;
    if (fraction > 0) chosen.push({ route, index, share: rest * fraction });
    rest *= 1 - fraction;
    if (rest <= 0) return chosen;
  }
  return chosen;
}

function matchesRoute(match: RouteMatch, headers: HeaderMap, metadata: Metadata): boolean {
  const path = headers[":path"] ?? "";
  return (
    match.connectMatcher === undefined &&
    matchesPath(match, path) &&
    (match.headers ?? []).every((matcher) => matchesHeader(matcher, headers)) &&
    (match.queryParameters ?? []).every((matcher) => matchesQuery(matcher, path)) &&
    (match.grpc === undefined || (headers["content-type"] ?? "").startsWith("application/grpc")) &&
    (match.dynamicMetadata ?? []).every((matcher) => matchesMetadata(matcher, metadata))
  );
}

export function matchesMetadata(
  { filter = "", path = [], value, invert }: MetadataMatcher,
  metadata: Metadata,
): boolean {
  let found: unknown = metadata[filter];
  for (const { key = "" } of path) found = isJsonObject(found) ? found[key] : undefined;
  return (value !== undefined && matchesValue(value, found)) !== (invert === true);
}

const DENOMINATORS = { HUNDRED: 100, TEN_THOUSAND: 10_000, MILLION: 1_000_000 } as const;

/** 0 to 1; undefined where nothing is said. */
export function fractionOf(percent: FractionalPercent | undefined): number | undefined {
  if (percent === undefined) return undefined;
  return Math.min(1, (percent.numerator ?? 0) / DENOMINATORS[percent.denominator ?? "HUNDRED"]);
}

/** In words: `path /v1, header x-a, method GET`. */
export function describeMatch(match: RouteMatch): string {
  const [path] = Object.entries({
    path: match.path,
    prefix: match.prefix ?? match.pathSeparatedPrefix,
    regex: match.safeRegex?.regex,
    template: match.pathMatchPolicy?.typedConfig?.pathTemplate,
  }).flatMap(([kind, value]) => (value === undefined ? [] : [`${kind} ${String(value)}`]));
  const headers = (match.headers ?? []).map(
    ({ name, invertMatch }) => `${invertMatch === true ? "without " : ""}header ${name}`,
  );
  const parameters = (match.queryParameters ?? []).map(({ name }) => `query ${name}`);
  return [path ?? "any path", ...headers, ...parameters].join(", ");
}
