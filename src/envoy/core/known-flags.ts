/**
 * Flag names (`--x`, `-x`) that Envoy's help text lists at the start of an entry. Empty for a text without `-c`, which every Envoy has:
 * a wrapper script answers with help of its own, or with none, and says nothing about the program it runs.
 */
export function parseKnownFlags(help: string): ReadonlySet<string> {
  const known = new Set<string>();
  for (const [, short, long] of help.matchAll(/^ {3}(?:(-[a-zA-Z])(?: <[^>]*>)?, +)?(--[a-z0-9-]+)/gm)) {
    if (short !== undefined) known.add(short);
    known.add(long ?? "");
  }
  return known.has("-c") ? known : new Set();
}

/** Envoys that are still maintained have these: none has to be asked first, which takes as long as starting it. */
const SETTLED: ReadonlySet<string> = new Set([
  "-c",
  "--config-yaml",
  "--base-id",
  "--restart-epoch",
  "--parent-shutdown-time-s",
  "--drain-time-s",
  "--drain-strategy",
  "--service-cluster",
  "--service-node",
  "--service-zone",
  "--local-address-ip-version",
  "--file-flush-interval-msec",
  "--disable-hot-restart",
  "--allow-unknown-static-fields",
  "--log-format",
  "-l",
  "--component-log-level",
  "--concurrency",
  "--skip-deprecated-logs",
]);

/** Whether some Envoy of today might not know the command line. */
export function hasDoubtfulFlags(args: readonly string[]): boolean {
  return flagsOf(args).some(({ flag }) => !SETTLED.has(flag));
}

/** Splits a command line by what the binary knows. A flag's value goes with it. An empty set means that nothing is known: keep all. */
export function dropUnknownFlags(
  args: readonly string[],
  known: ReadonlySet<string>,
): { passed: string[]; dropped: string[] } {
  if (known.size === 0) return { passed: [...args], dropped: [] };
  const passed: string[] = [];
  const dropped: string[] = [];
  for (const { flag, value } of flagsOf(args)) {
    if (known.has(flag)) passed.push(flag, ...(value === undefined ? [] : [value]));
    else dropped.push(flag);
  }
  return { passed, dropped };
}

function flagsOf(args: readonly string[]): { readonly flag: string; readonly value: string | undefined }[] {
  const flags = [];
  for (let index = 0; index < args.length; index++) {
    const flag = args[index] ?? "";
    const value = hasValue(flag) ? args[index + 1] : undefined;
    if (value !== undefined) index++;
    flags.push({ flag, value });
  }
  return flags;
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
