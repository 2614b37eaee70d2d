import type { Attribute } from "./attribute.ts";

/** One thing that a rule asks: one of the values, and none of the others. Without an attribute nobody knows what is asked. */
export interface Clause<Matcher> {
  readonly attribute: Attribute<Matcher> | undefined;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

/** What evaluates the rule: Envoy with or without an HTTP layer, or a gRPC library. */
export type Layer = "http" | "tcp" | "grpc";

export interface ClauseOptions<Matcher> {
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
