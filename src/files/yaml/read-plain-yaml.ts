import { readFlow } from "./plain-flow.ts";
import { isKey, NOT_PLAIN, scalar } from "./plain-scalar.ts";

/** A document with more goes through the library, which has limits. */
const MAX_LENGTH = 1_000_000;
/** Deeper ones go through the library as well. */
const MAX_INDENT = 200;

/**
 * A document of the kind that most files of objects are, in a tenth of the library's time: block maps and lists, scalars on one line, plain
 * or in quotes without escapes, and `{}` and `[]` of these on one line. Undefined for every other one, right or wrong: the library decides on those. The data is what the library
 * gives by the strict profile.
 */
export function readPlainYaml(text: string): { readonly data: unknown } | undefined {
  if (text.length > MAX_LENGTH || UNUSUAL.test(text)) return undefined;
  const lines = linesOf(text);
  if (lines === undefined) return undefined;
  try {
    const reader = new PlainReader(lines);
    const data = reader.map(lines[0]?.indent ?? 0);
    return reader.isAtEnd ? { data } : undefined;
  } catch (thrown) {
    if (thrown === NOT_PLAIN) return undefined;
    throw thrown;
  }
}

/** Tabs, line breaks of other systems and what is beyond ASCII have rules of their own. */
const UNUSUAL = /[^\n\x20-\x7e]/;
interface Line {
  readonly indent: number;
  /** Without the indentation and the blanks at the end. */
  readonly content: string;
}

/** Those that say something; undefined where there is nothing or too much of it. */
function linesOf(text: string): Line[] | undefined {
  const lines: Line[] = [];
  for (const [at, raw] of text.split("\n").entries()) {
    const content = raw.trim();
    if (content === "" || content.startsWith("#")) continue;
    if (at === 0 && raw.trimEnd() === "---") continue;
    const indent = raw.length - raw.trimStart().length;
    if (indent > MAX_INDENT) return undefined;
    lines.push({ indent, content });
  }
  return lines.length === 0 ? undefined : lines;
}

/** `key:` and what stands behind it on the line. Keys that are no text in YAML, merges and members of every object are not plain. */
const MEMBER = /^([A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]{0,14}):(?: +|$)(.*)$/;
class PlainReader {
  readonly #lines: Line[];
  #at = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#lines.length;
  }

  map(indent: number): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    for (let line = this.#lineAt(indent); line !== undefined; line = this.#lineAt(indent)) {
      const [, key = "", rest = ""] = MEMBER.exec(line.content) ?? [];
      if (!isKey(key) || Object.hasOwn(members, key)) throw NOT_PLAIN;
      this.#at += 1;
      members[key] = this.#value(rest, indent);
    }
    return members;
  }

  #list(indent: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.#lineAt(indent); line !== undefined; line = this.#lineAt(indent)) {
      if (!isItem(line.content)) break;
      const inside = line.content.slice(1).trimStart();
      if (MEMBER.test(inside)) {
        // The map of the item begins on its line, where its first key stands.
        const column = indent + line.content.length - inside.length;
        this.#lines[this.#at] = { indent: column, content: inside };
        items.push(this.map(column));
        continue;
      }
      this.#at += 1;
      if (inside === "" || inside.startsWith("#")) throw NOT_PLAIN;
      items.push(this.#value(inside, indent));
    }
    return items;
  }

  /** What stands behind a key, or below it. A list may stand at the column of its key. */
  #value(rest: string, indent: number): unknown {
    const next = this.#lines[this.#at];
    if (rest !== "" && !rest.startsWith("#")) {
      // A line further in would go on with the text.
      if (next !== undefined && next.indent > indent) throw NOT_PLAIN;
      return rest.startsWith("{") || rest.startsWith("[") ? readFlow(rest) : scalar(rest);
    }
    if (next === undefined || next.indent < indent) return null;
    if (isItem(next.content)) return this.#list(next.indent);
    return next.indent === indent ? null : this.map(next.indent);
  }

  /** The next line where it belongs to the block of the column; a column that no block has is not plain. */
  #lineAt(indent: number): Line | undefined {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent < indent) return undefined;
    if (line.indent > indent) throw NOT_PLAIN;
    return line;
  }
}

function isItem(content: string): boolean {
  return content === "-" || content.startsWith("- ");
}
