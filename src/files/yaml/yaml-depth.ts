/** Far more levels than any rule has. */
const MAX_DEPTH = 500;

export const TOO_DEEP = `nested too deeply, at most ${MAX_DEPTH} levels are allowed`;

/**
 * Whether a YAML text nests too deeply. Checked before the library reads it: it recurses for each level, and an exhausted stack does not
 * always throw, it may end the process. Counts what may open a level, so it errs on the large side.
 */
export function nestsTooDeeply(text: string): boolean {
  let open = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end === -1 ? text.length : end);
    at += line.length + 1;
    // Each level of a block is at least a column further in, or one more `- ` or `? ` on the line.
    if ((BLOCK.exec(line)?.[0].length ?? 0) > MAX_DEPTH) return true;
    open = openAfter(line, open);
    if (open > MAX_DEPTH) return true;
  }
  return false;
}

const BLOCK = /^(?: |[-?] )*/;

/** Brackets that are open behind the line, or at its deepest point when that is too deep. Those in quotes that end on it do not count. */
function openAfter(line: string, before: number): number {
  let open = before;
  let quote = "";
  let quoted = 0;
  for (let at = 0; at < line.length && open <= MAX_DEPTH; at += 1) {
    const character = line[at] ?? "";
    if (quote !== "") {
      if (character === quote) [quote, quoted] = ["", 0];
      else if (character === "\\" && quote === '"') at += 1;
      else if (OPENING.includes(character)) quoted += 1;
    } else if (character === '"' || character === "'") quote = character;
    else if (OPENING.includes(character)) open += 1;
    else if (CLOSING.includes(character) && open > 0) open -= 1;
  }
  return open + quoted;
}

const OPENING = "[{";
const CLOSING = "]}";
