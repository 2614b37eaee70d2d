/** One refusal for the control plane: a single text as it is, several as a list. */
export function joinErrors(texts: readonly string[]): string {
  if (texts.length === 1) return texts[0] ?? "";
  return `${texts.length} errors occurred:\n${texts.map((text) => `\t* ${text}\n`).join("")}`;
}
