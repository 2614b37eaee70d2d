import type { StringMatcher, ValueMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { matchesWhole } from "./regex.ts";

export function matchesText(matcher: StringMatcher, text: string): boolean {
  const fold = (value: string) => (matcher.ignoreCase === true ? value.toLowerCase() : value);
  const seen = fold(text);
  if (matcher.exact !== undefined) return seen === fold(matcher.exact);
  if (matcher.prefix !== undefined) return seen.startsWith(fold(matcher.prefix));
  if (matcher.suffix !== undefined) return seen.endsWith(fold(matcher.suffix));
  if (matcher.contains !== undefined) return seen.includes(fold(matcher.contains));
  if (matcher.safeRegex !== undefined) return matchesWhole(matcher.safeRegex.regex ?? "", text) === true;
  // An exact text that is empty is absent in JSON form.
  return matcher.custom === undefined && seen === "";
}

/** Of a value in metadata, a claim of a token for example. */
export function matchesValue(matcher: ValueMatcher, value: unknown): boolean {
  if (matcher.orMatch !== undefined)
    return (matcher.orMatch.valueMatchers ?? []).some((one) => matchesValue(one, value));
  if (matcher.listMatch !== undefined) {
    const { oneOf } = matcher.listMatch;
    return Array.isArray(value) && oneOf !== undefined && value.some((element) => matchesValue(oneOf, element));
  }
  if (matcher.stringMatch !== undefined) return typeof value === "string" && matchesText(matcher.stringMatch, value);
  if (matcher.boolMatch !== undefined) return value === matcher.boolMatch;
  if (matcher.presentMatch !== undefined) return (value !== undefined) === matcher.presentMatch;
  if (matcher.nullMatch !== undefined) return value === null;
  const { exact, range } = matcher.doubleMatch ?? {};
  if (typeof value !== "number") return false;
  if (exact !== undefined) return value === exact;
  return range !== undefined && value >= (range.start ?? 0) && value < (range.end ?? 0);
}
