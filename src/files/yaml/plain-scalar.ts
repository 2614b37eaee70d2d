/** Thrown at the first thing that is not known here: the library decides on it. */
export const NOT_PLAIN = Symbol("not plain");

const NO_TEXT = /^(?:null|true|false|__proto__)$/i;

/** Keys that are no text in YAML and members of every object are not plain. */
export function isKey(key: string): boolean {
  return key !== "" && !NO_TEXT.test(key);
}

/** Begins like text or a number and not like anything else that YAML knows. */
const PLAIN_START = /^(?:[A-Za-z0-9_./~+$(;^]|-[A-Za-z0-9_./])/;
const INTEGER = /^(?:0|[1-9][0-9]{0,14})$/;
const DECIMAL = /^(?:0|[1-9][0-9]{0,7})\.[0-9]{1,7}$/;
const NUMERIC_START = /^[-+.0-9]/;
/** Any other form of a number. */
const NUMERIC = /^[-+]?(?:0[xo][0-9a-f]+|\.(?:inf|nan)|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?)$/i;
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
const WORDS: Readonly<Record<string, unknown>> = {
  "~": null,
  null: null,
  Null: null,
  NULL: null,
  true: true,
  True: true,
  TRUE: true,
  false: false,
  False: false,
  FALSE: false,
};

const LONGEST_WORD = "false".length;

/** What stands behind a key on its line. */
export function scalar(rest: string): unknown {
  const quoted = rest.startsWith('"') || rest.startsWith("'") ? QUOTED.exec(rest) : null;
  if (quoted !== null) return quoted[1] ?? quoted[2];
  if (!PLAIN_START.test(rest)) throw NOT_PLAIN;
  const comment = rest.indexOf(" #");
  const text = comment === -1 ? rest : rest.slice(0, comment).trimEnd();
  if (text.includes(": ") || text.endsWith(":")) throw NOT_PLAIN;
  if (text.length <= LONGEST_WORD && Object.hasOwn(WORDS, text)) return WORDS[text];
  if (!NUMERIC_START.test(text)) return text;
  if (INTEGER.test(text) || DECIMAL.test(text)) return Number(text);
  if (NUMERIC.test(text)) throw NOT_PLAIN;
  return text;
}
