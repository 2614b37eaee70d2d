import type { StringMatch } from "../../istio-api/specs.ts";
import { headerTextReason } from "../../istio-api/validation/headers.ts";
import { re2Problem } from "../../istio-api/validation/re2-problem.ts";
import { re2SizeProblem } from "../../istio-api/validation/re2-size.ts";
import type { StringMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import type { FractionalPercent } from "../../protobuf/gen/envoy/type/v3.ts";

/**
 * Last defence before the wire: validation has reported it already, but one value that Envoy refuses costs the whole route
 * configuration, so that a route with such a value is left out instead.
 */
export function isRegex(text: string | undefined): boolean {
  if (text === undefined || text === "" || text === "*") return true;
  return re2Problem(text) === undefined && re2SizeProblem(text) === undefined;
}

/** Envoy takes no line ends and no zero bytes in anything that becomes a header. */
export function isHeaderSafe(...texts: readonly (string | undefined)[]): boolean {
  return texts.every((text) => headerTextReason(text) === undefined);
}

/** A percentage with four digits behind the point, which is as fine as Envoy can count; further ones are cut off. */
export function buildFraction(percent: number): FractionalPercent {
  const numerator = Math.trunc(percent * 10_000);
  return numerator === 0 ? { denominator: "MILLION" } : { numerator, denominator: "MILLION" };
}

export function buildPercent(percent: number): FractionalPercent {
  return percent === 0 ? {} : { numerator: percent };
}

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
