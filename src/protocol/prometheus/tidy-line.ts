const TAB = 0x09;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

/**
 * The line with its newline, without the blanks that the text format allows around it and before the labels but not every reader takes,
 * and without the carriage return of another system. Undefined when it has none of them. `end` is its newline's offset.
 */
export function tidyLine(bytes: Buffer, start: number, end: number): Buffer | undefined {
  let first = start;
  let last = end;
  while (first < last && isBlank(bytes[first])) first++;
  while (last > first && (isBlank(bytes[last - 1]) || bytes[last - 1] === CARRIAGE_RETURN)) last--;
  const brace = braceOf(bytes, first, last);
  let nameEnd = brace;
  while (nameEnd > first && isBlank(bytes[nameEnd - 1])) nameEnd--;
  if (first === start && last === end && nameEnd === brace) return undefined;
  return Buffer.concat([bytes.subarray(first, nameEnd), bytes.subarray(brace, last), Buffer.of(NEWLINE)]);
}

/** The brace that opens the labels; `end` where none does. */
function braceOf(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    if (bytes[at] === OPEN_BRACE) return at;
    if (bytes[at] === QUOTE) return end;
  }
  return end;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}
