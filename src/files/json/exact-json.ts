/** Only such numbers can be more than a double holds. */
const MAY_BE_LARGE = /\d{16}|[eE]\+?\d{3}/;
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+)/y;
/** Far more levels than any configuration has; as for YAML. */
const MAX_DEPTH = 500;
const TOO_DEEP = `json: nested too deeply, at most ${MAX_DEPTH} levels are allowed`;
const INTEGER = /^-?\d+$/;

/**
 * As `JSON.parse`, except that integers a double would round come back as bigint, and that numbers beyond all doubles are refused: they
 * would be infinite, which cannot be written again. So are more than 500 levels.
 */
export function parseExactJson(text: string): unknown {
  const value = notTooDeep(JSON.parse(text));
  // What is read a second time has no mistakes any more.
  return MAY_BE_LARGE.test(text) ? readValue({ text, at: 0 }) : value;
}

/** As `JSON.stringify`, except that a bigint is written as the number it is. */
export function stringifyExactJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (failure) {
    // The stack is exhausted.
    if (failure instanceof RangeError) throw new TypeError(TOO_DEEP, { cause: failure });
    if (!(failure instanceof TypeError)) throw failure;
  }
  const write = (replace: (big: bigint) => unknown) =>
    JSON.stringify(value, (_, item) => (typeof item === "bigint" ? replace(item) : item), indent);
  // Numbers of any size stand in quotes behind a mark, which no text of the document has, until the quotes are taken away.
  const others = write(() => 0);
  let mark = "#";
  while (others.includes(`"${mark}`)) mark += "#";
  return write((big) => `${mark}${big}`).replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/** The integer as a number where that is exact. */
export function exactInteger(value: bigint | string): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

/** The same value. Checked level by level: what reads it on, decodes, freezes or prints it recurses for each of them. */
function notTooDeep(value: unknown): unknown {
  let level = [value];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++)
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  if (level.length > 0) throw new SyntaxError(TOO_DEEP);
  return value;
}

interface Reader {
  readonly text: string;
  at: number;
}

function readValue(reader: Reader, token = nextToken(reader)): unknown {
  if (token === "[") return readList(reader);
  if (token === "{") return readObject(reader);
  const value: unknown = INTEGER.test(token) ? exactInteger(token) : JSON.parse(token);
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new SyntaxError(`json: cannot unmarshal number ${token} into Go value of type float64`);
  return value;
}

function readList(reader: Reader): unknown[] {
  const items: unknown[] = [];
  for (let token = nextToken(reader); token !== "]"; token = nextToken(reader)) {
    if (token !== ",") items.push(readValue(reader, token));
  }
  return items;
}

function readObject(reader: Reader): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (let token = nextToken(reader); token !== "}"; token = nextToken(reader)) {
    if (token === ",") continue;
    nextToken(reader); // the colon
    entries.push([JSON.parse(token), readValue(reader)]);
  }
  return Object.fromEntries(entries);
}

function nextToken(reader: Reader): string {
  TOKEN.lastIndex = reader.at;
  const token = TOKEN.exec(reader.text)?.[1] ?? "";
  reader.at = TOKEN.lastIndex;
  return token;
}
