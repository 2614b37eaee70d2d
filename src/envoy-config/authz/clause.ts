import type { HeaderMatcher } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { StringMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";

/** One thing that a rule asks: one of the values, and none of the others. Without an attribute the key is unknown. */
export interface Clause<Matcher> {
  readonly attribute: Attribute<Matcher> | undefined;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

/** What evaluates the rule: Envoy with or without an HTTP layer, or a gRPC library. */
export type Layer = "http" | "tcp" | "grpc";

interface ClauseOptions<Matcher> {
  readonly layer: Layer;
  /** What to do with a question that cannot be asked: never allow because of it, never let through because of it. */
  readonly onUnknown: "drop-rule" | "ignore";
  not(matcher: Matcher): Matcher;
}

/** Matchers that must all be true. Undefined: the rule is to be dropped. */
export function clauseMatchers<Matcher>(
  clauses: readonly Clause<Matcher>[],
  { layer, onUnknown, not }: ClauseOptions<Matcher>,
): readonly Matcher[] | undefined {
  const found: Matcher[] = [];
  for (const { attribute, values, notValues } of clauses) {
    const isAskable = attribute !== undefined && (layer !== "tcp" || !attribute.isHttpOnly);
    const anyOf = (list: readonly string[]) => {
      const matcher = isAskable ? attribute.anyOf(list) : undefined;
      return layer === "grpc" && !isKnownToGrpc(matcher) ? undefined : matcher;
    };
    const wanted = values.length > 0 ? [anyOf(values)] : [];
    const unwanted = notValues.length > 0 ? [anyOf(notValues)] : [];
    if (onUnknown === "drop-rule" && [...wanted, ...unwanted].includes(undefined)) return undefined;
    found.push(...wanted.filter(isKnown), ...unwanted.filter(isKnown).map(not));
  }
  return found;
}

function isKnown<Matcher>(matcher: Matcher | undefined): matcher is Matcher {
  return matcher !== undefined;
}

/** gRPC libraries take tokens, other filters' findings and server names for absent, and refuse path templates with the listener. */
function isKnownToGrpc(matcher: unknown): boolean {
  return !/"(metadata|requestedServerName|uriTemplate)":/.test(JSON.stringify(matcher) ?? "");
}

/** Something of a connection or request that rules ask about. */
export interface Attribute<Matcher> {
  /** Chains without HTTP layer cannot know it. */
  readonly isHttpOnly: boolean;
  /** What is true when it has one of the values; undefined when one of them makes no sense. */
  anyOf(values: readonly string[]): Matcher | undefined;
}

/** An attribute that each value is compared with on its own. */
export function attribute<Matcher>(
  layer: "http" | "any",
  or: (matchers: readonly Matcher[]) => Matcher,
  match: (value: string) => Matcher | undefined,
): Attribute<Matcher> {
  return {
    isHttpOnly: layer === "http",
    anyOf(values) {
      const found = values.map(match).filter((matcher) => matcher !== undefined);
      return found.length === values.length ? or(found) : undefined;
    },
  };
}

/** The text in `KEY[text]`, or in `KEY[a][b]` all of them. */
export function keysIn(key: string, name: string): readonly string[] | undefined {
  const rest = key.slice(name.length);
  if (!key.startsWith(name) || !/^(\[[^[\]]+\])+$/.test(rest)) return undefined;
  return rest.slice(1, -1).split("][");
}

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
