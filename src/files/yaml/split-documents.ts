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
  const documents: DocumentText[] = [];
  let start = 0;
  let linesBefore = 0;
  const cut = (end: number) => {
    const piece = text.slice(start, end);
    // Directives (%YAML 1.2) belong to the document behind the marker.
    if (/(?:^|\n)%/.test(piece) && everyLine(piece, isPreamble)) return;
    if (!everyLine(piece, isBlank)) documents.push({ text: piece, linesBefore });
    start = end + 1;
    linesBefore += lineCount(piece);
  };
  for (const { index } of text.matchAll(/\n---(?=\s|$)/g)) cut(index);
  cut(text.length);
  return documents;
}

function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Looks no further than to the first line that is not. */
function everyLine(text: string, isSo: (line: string) => boolean): boolean {
  for (let start = 0; start <= text.length; ) {
    const end = text.indexOf("\n", start);
    if (!isSo(text.slice(start, end === -1 ? text.length : end))) return false;
    if (end === -1) return true;
    start = end + 1;
  }
  return true;
}

function isBlank(line: string): boolean {
  return /^(---|\.\.\.)?\s*(#.*)?$/.test(line);
}

function isPreamble(line: string): boolean {
  return line.startsWith("%") || isBlank(line);
}
