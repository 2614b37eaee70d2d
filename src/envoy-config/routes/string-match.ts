import type { StringMatch } from "../../istio-api/specs/virtual-service.ts";
import type { StringMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";

/**
 * Undefined means that any value will do: nothing is asked, a prefix of nothing, or a lone `*`, which is how "present" was spelled of
 * old. An exact match of nothing asks for an empty value.
 */
export function buildStringMatcher(match: StringMatch): StringMatcher | undefined {
  if (match.exact !== undefined) return { exact: match.exact };
  if (match.prefix) return { prefix: match.prefix };
  if (match.regex && match.regex !== "*") return { safeRegex: { regex: match.regex } };
  return undefined;
}
