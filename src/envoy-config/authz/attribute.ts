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
