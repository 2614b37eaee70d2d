/** The value text of the first line that starts with the stat's name; absent stats are undefined. */
export type StatValue = { readonly value: number } | { readonly error: string } | undefined;

const MAX_UNSIGNED = 2n ** 64n - 1n;

/** Reads one stat of Envoy's text output (`name: value` per line). */
export function readStat(body: string, name: string): StatValue {
  const line = body.split("\n").find((candidate) => candidate.startsWith(name));
  if (line === undefined) return undefined;
  const parts = line.split(":");
  if (parts.length !== 2) return { error: `envoy stat ${name} missing separator. line:${line}` };
  return parseStat(name, (parts[1] ?? "").trim(), line);
}

/** Unsigned decimal, with the error text of the reference. */
export function parseStat(name: string, text: string, line: string): NonNullable<StatValue> {
  if (!/^\d+$/.test(text)) return { error: unparsable(name, text, line, "invalid syntax") };
  if (BigInt(text) > MAX_UNSIGNED) return { error: unparsable(name, text, line, "value out of range") };
  return { value: Number(text) };
}

function unparsable(name: string, text: string, line: string, why: string): string {
  return `failed parsing Envoy stat ${name} (error: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}) line: ${line}`;
}
