/** The line up to the blank before its value; blanks may also stand in label values, behind a quote. */
export function seriesKey(bytes: Buffer, start: number, end: number): string {
  const line = bytes.toString("latin1", start, end);
  const labelsEnd = /^[^{ \t]*\{(?:[^"}]*"(?:[^"\\]|\\.)*")*[^"}]*\}/.exec(line)?.[0];
  return labelsEnd ?? /^[^ \t]*/.exec(line)?.[0] ?? line;
}
