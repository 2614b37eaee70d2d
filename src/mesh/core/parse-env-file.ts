import { interpolate, type Lookup } from "./interpolate.ts";

export interface EnvFile {
  readonly variables: Readonly<Record<string, string>>;
  readonly problems: readonly { readonly line: number; readonly text: string }[];
}

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*(=?)[ \t]*/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "\\": "\\", '"': '"', $: "$$" };
const VALUES = { unset: "empty", takesBare: true } as const;

/**
 * A dotenv file: NAME=value, with `export` before it or not, comments, 'as it is', "with \n and ${OTHER}", also over several lines. A name
 * without a value is that variable of the environment, if it is set there.
 */
export function parseEnvFile(text: string, lookup: Lookup): EnvFile {
  const variables: Record<string, string> = {};
  const problems: EnvFile["problems"][number][] = [];
  const known: Lookup = (name) => variables[name] ?? lookup(name);
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  for (let index = 0; index < lines.length; index += 1) {
    const first = lines[index] ?? "";
    const at = index + 1;
    if (/^\s*(#|$)/.test(first)) continue;
    const [whole, name, sign] = ASSIGNMENT.exec(first) ?? [];
    if (whole === undefined || name === undefined || (sign === "" && first.slice(whole.length) !== "")) {
      problems.push({ line: at, text: `${JSON.stringify(first.trim())} is not NAME=value` });
      continue;
    }
    if (sign === "") {
      const value = lookup(name);
      if (value !== undefined) variables[name] = value;
      continue;
    }
    let rest = first.slice(whole.length);
    const quote = /^['"]/.exec(rest)?.[0];
    while (quote !== undefined && quotedEnd(rest, quote) === -1 && index + 1 < lines.length) {
      index += 1;
      rest += `\n${lines[index]}`;
    }
    const value = readValue(rest, quote, known);
    if ("problem" in value) problems.push({ line: at, text: `${name}: ${value.problem}` });
    else variables[name] = value.text;
  }
  return { variables, problems };
}

function readValue(rest: string, quote: string | undefined, known: Lookup): ReturnType<typeof interpolate> {
  // A comment behind a plain value has a space before it: a#b is a value.
  if (quote === undefined) return interpolate(rest.replace(/(^|\s)#.*$/, "").trim(), known, VALUES);
  const end = quotedEnd(rest, quote);
  if (end === -1) return { problem: `the quote ${quote} is not closed` };
  if (!/^\s*(#.*)?$/.test(rest.slice(end + 1))) return { problem: "something follows the closing quote" };
  const inside = rest.slice(1, end);
  if (quote === "'") return { text: inside };
  return interpolate(
    inside.replace(/\\(.)/gs, (whole, letter: string) => ESCAPES[letter] ?? whole),
    known,
    VALUES,
  );
}

function quotedEnd(text: string, quote: string): number {
  for (let at = 1; at < text.length; at += 1) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}
