const MAX_REASON_CHARS = 2_000;

/** Envoy's own words for why it does not start, from the output of a validation run; undefined when it names none. */
export function parseOwnReason(output: string): string | undefined {
  const text = output.replace(/\r/g, "");
  const reason =
    /^PARSE ERROR: Argument: (?<argument>.*)\n\s*(?<why>.*)$/m.exec(text)?.groups ??
    /error initializing configuration '[^']*': (?<why>[\s\S]*?)(?=\n\[\d{4}-|\n*$(?![\s\S]))/.exec(text)?.groups ??
    /\[critical\]\[[^\]]*\] (?:\[[^\]]*\] )?(?<why>[\s\S]*?)(?=\n\[\d{4}-|\n*$(?![\s\S]))/.exec(text)?.groups ??
    /^(?:error: |Assertion failed|terminate called)(?<why>.*)$/m.exec(text)?.groups;
  if (reason?.why === undefined) return lastLine(text);
  const whole = reason.argument === undefined ? reason.why : `${reason.argument}: ${reason.why}`;
  return whole.replace(/\s+/g, " ").trim().slice(0, MAX_REASON_CHARS);
}

/** Other programs and older versions at least end with the reason. Envoy's ordinary log lines are none. */
function lastLine(text: string): string | undefined {
  const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
  if (line === "" || /^\[\d{4}-/.test(line)) return undefined;
  return line.slice(0, MAX_REASON_CHARS);
}
