import type { HeaderMatcher, QueryParameterMatcher } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { matchesWhole } from "./regex.ts";
import { matchesText } from "./text.ts";

/** Names in lower case, `:method`, `:authority` and `:path` among them; several values of a name are joined by commas. */
export type HeaderMap = Readonly<Record<string, string>>;

export function matchesHeader(matcher: HeaderMatcher, headers: HeaderMap): boolean {
  const value = headers[(matcher.name ?? "").toLowerCase()];
  const inverted = matcher.invertMatch === true;
  if (asksPresence(matcher)) {
    const isThere = value !== undefined || matcher.treatMissingHeaderAsEmpty === true;
    return (isThere === (matcher.presentMatch ?? true)) !== inverted;
  }
  // A header that is missing matches nothing, inverted or not.
  if (value === undefined && matcher.treatMissingHeaderAsEmpty !== true) return false;
  return matchesHeaderValue(matcher, value ?? "") !== inverted;
}

function asksPresence({ presentMatch, stringMatch, exactMatch, ...rest }: HeaderMatcher): boolean {
  if (presentMatch !== undefined) return true;
  const asked = [stringMatch, exactMatch, rest.prefixMatch, rest.suffixMatch, rest.containsMatch];
  return [...asked, rest.safeRegexMatch, rest.rangeMatch].every((one) => one === undefined);
}

function matchesHeaderValue(matcher: HeaderMatcher, value: string): boolean {
  if (matcher.stringMatch !== undefined) return matchesText(matcher.stringMatch, value);
  if (matcher.exactMatch !== undefined) return value === matcher.exactMatch;
  if (matcher.prefixMatch !== undefined) return value.startsWith(matcher.prefixMatch);
  if (matcher.suffixMatch !== undefined) return value.endsWith(matcher.suffixMatch);
  if (matcher.containsMatch !== undefined) return value.includes(matcher.containsMatch);
  if (matcher.safeRegexMatch !== undefined) return matchesWhole(matcher.safeRegexMatch.regex ?? "", value) === true;
  const { start = "0", end = "0" } = matcher.rangeMatch ?? {};
  return /^-?\d+$/.test(value) && BigInt(value) >= BigInt(start) && BigInt(value) < BigInt(end);
}

/** The first value of the name counts, as it is written. */
export function matchesQuery(matcher: QueryParameterMatcher, path: string): boolean {
  const value = queryValues(path).get(matcher.name ?? "");
  if (matcher.stringMatch === undefined) return (value !== undefined) === (matcher.presentMatch ?? true);
  return value !== undefined && matchesText(matcher.stringMatch, value);
}

export function queryValues(path: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const [, query = ""] = /\?([^#]*)/.exec(path) ?? [];
  for (const part of query.split("&")) {
    const at = part.indexOf("=");
    const name = at === -1 ? part : part.slice(0, at);
    if (part !== "" && !found.has(name)) found.set(name, at === -1 ? "" : part.slice(at + 1));
  }
  return found;
}
