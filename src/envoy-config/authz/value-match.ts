import type { HeaderMatcher } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { StringMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";

/** Some text, but not none. */
export const ANY_TEXT: StringMatcher = { safeRegex: { regex: ".+" } };

/** `x*` begins with x, `*x` ends with x, `*` is not empty; everything else is meant literally. */
export function matchText(value: string): StringMatcher {
  if (value === "*") return ANY_TEXT;
  if (value.startsWith("*")) return { suffix: value.slice(1) };
  if (value.endsWith("*")) return { prefix: value.slice(0, -1) };
  return { exact: value };
}

/** The same behind a prefix that every value has. */
export function matchTextAfter(prefix: string, value: string): StringMatcher {
  if (value === "*") return ANY_TEXT;
  if (value.startsWith("*")) return matchRegex(`${quote(prefix)}.*${quote(value.slice(1))}`);
  return matchText(prefix + value);
}

/** Envoy refuses empty prefixes, so that `*` asks for the header alone. */
export function matchHeader(name: string, value: string, ignoreCase = false): HeaderMatcher {
  if (value === "*") return { name, presentMatch: true };
  return { name, stringMatch: { ...matchText(value), ...(ignoreCase && { ignoreCase }) } };
}

export function matchRegex(regex: string): StringMatcher {
  return { safeRegex: { regex } };
}

/** Text as a regular expression that matches it alone. */
export function quote(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
}

/** The same with every star standing for any text. */
export function quoteAroundStars(text: string, star = ".*"): string {
  return text.split("*").map(quote).join(star);
}
