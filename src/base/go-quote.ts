const ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** Text as Go's %q prints it: printable characters stay, others become escapes. Error texts and FLAG lines are written this way. */
export function goQuote(text: string): string {
  let quoted = "";
  for (const character of text)
    quoted += ESCAPES[character] ?? (isPrintable(character) ? character : escapeCode(character));
  return `"${quoted}"`;
}

function isPrintable(character: string): boolean {
  return character === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

function escapeCode(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}
