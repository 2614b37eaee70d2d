/** Flag names (`--x`, `-x`) that Envoy's help text lists at the start of an entry. */
export function parseKnownFlags(help: string): ReadonlySet<string> {
  const known = new Set<string>();
  for (const [, short, long] of help.matchAll(/^ {3}(?:(-[a-zA-Z])(?: <[^>]*>)?, +)?(--[a-z0-9-]+)/gm)) {
    if (short !== undefined) known.add(short);
    known.add(long ?? "");
  }
  return known;
}

/** Splits a command line by what the binary knows. A flag's value goes with it. An empty set means that nothing is known: keep all. */
export function dropUnknownFlags(
  args: readonly string[],
  known: ReadonlySet<string>,
): { kept: string[]; dropped: string[] } {
  if (known.size === 0) return { kept: [...args], dropped: [] };
  const kept: string[] = [];
  const dropped: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const flag = args[index] ?? "";
    const value = hasValue(flag) ? args[index + 1] : undefined;
    if (value !== undefined) index++;
    if (known.has(flag)) kept.push(flag, ...(value === undefined ? [] : [value]));
    else dropped.push(flag);
  }
  return { kept, dropped };
}

/** Every flag the agent passes takes a value but these; a value may itself start with a dash. */
function hasValue(flag: string): boolean {
  return !SWITCHES.has(flag);
}

const SWITCHES: ReadonlySet<string> = new Set([
  "--disable-hot-restart",
  "--allow-unknown-fields",
  "--allow-unknown-static-fields",
  "--skip-deprecated-logs",
  "--enable-core-dump",
]);
