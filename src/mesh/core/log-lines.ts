const COLOURS = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];

/** `front/app | text`, in a colour that stays with the source. */
export function prefixLines(
  source: string,
  text: string,
  options: { readonly width: number; readonly hasColours: boolean },
): string {
  const label = `${source.padEnd(options.width)} |`;
  const shown = options.hasColours ? `\u001b[${colourOf(source)}m${label}\u001b[0m` : label;
  return text
    .split("\n")
    .filter((line, index, all) => line !== "" || index < all.length - 1)
    .map((line) => `${shown} ${line}\n`)
    .join("");
}

function colourOf(source: string): number {
  const sum = [...source].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return COLOURS[sum % COLOURS.length] ?? 0;
}

/** The last lines of a text. */
export function lastLines(text: string, count: number): string {
  const lines = text.split("\n");
  const isEnded = lines.at(-1) === "";
  return lines.slice(Math.max(0, lines.length - count - (isEnded ? 1 : 0))).join("\n");
}

const FAILURE = /\b(error|fatal|panic|exception|critical|cannot|failed|refused|denied|not found)\b|Error:/i;
/** Where in a source something was thrown, and what runtimes add behind their report. */
const FRAME = /^\s+at |^Node\.js v|^\s*\^+\s*$|^\s*[{}]\s*$/;
const MAX_TELLING = 200;

/** Of the last lines of a process the one that says most about its end; undefined when there is none. */
export function tellingLine(lines: readonly string[]): string | undefined {
  const said = lines.filter((line) => !FRAME.test(line));
  const line = said.findLast((each) => FAILURE.test(each)) ?? said.at(-1);
  const text = line?.trim();
  return text !== undefined && text.length > MAX_TELLING ? `${text.slice(0, MAX_TELLING)}...` : text;
}
