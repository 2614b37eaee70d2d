import type { Attribute } from "./attribute.ts";

/** One thing that a rule asks: one of the values, and none of the others. Without an attribute nobody knows what is asked. */
export interface Clause<Matcher> {
  readonly attribute: Attribute<Matcher> | undefined;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

export interface ClauseOptions<Matcher> {
  readonly layer: "http" | "tcp";
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
    const isAskable = attribute !== undefined && (layer === "http" || !attribute.isHttpOnly);
    const anyOf = (list: readonly string[]) => (isAskable ? attribute.anyOf(list) : undefined);
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
