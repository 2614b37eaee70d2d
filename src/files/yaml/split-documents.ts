/** One YAML document of a file, and how many lines stand before it. */
export interface DocumentText {
  readonly text: string;
  readonly linesBefore: number;
}

/**
 * Cuts a YAML stream at its `---` lines, before parsing, so that a quote or bracket left open in one document cannot swallow the next.
 * YAML forbids such a line inside any scalar. Documents of comments alone are left out.
 */
export function splitDocuments(text: string): readonly DocumentText[] {
  const lines = text.split("\n");
  const documents: DocumentText[] = [];
  let start = 0;
  const cut = (end: number) => {
    const piece = lines.slice(start, end);
    // Directives (%YAML 1.2) belong to the document behind the marker.
    if (piece.some((line) => line.startsWith("%")) && piece.every(isPreamble)) return;
    if (!piece.every(isBlank)) documents.push({ text: piece.join("\n"), linesBefore: start });
    start = end;
  };
  lines.forEach((line, index) => {
    if (index > 0 && /^---(?=\s|$)/.test(line)) cut(index);
  });
  cut(lines.length);
  return documents;
}

function isBlank(line: string): boolean {
  return /^(---|\.\.\.)?\s*(#.*)?$/.test(line);
}

function isPreamble(line: string): boolean {
  return line.startsWith("%") || isBlank(line);
}
