import { readFlow } from "./plain-flow.ts";
import { isKey, NOT_PLAIN, scalar } from "./plain-scalar.ts";

/** A document with more goes through the library, which has limits. A list of ten thousand objects has about half of it. */
const MAX_LENGTH = 32_000_000;
/** Deeper ones go through the library as well. */
const MAX_INDENT = 200;

/** Where members stand: by the map or list that they are of, lines and columns from 1. What is inside of `{}` and `[]` is not there. */
export type PlainSpots = Map<object, Map<string | number, { readonly line: number; readonly column: number }>>;

/**
 * A document of the kind that most files of objects are, in a tenth of the library's time: block maps and lists, scalars on one line, plain
 * or in quotes without escapes, `{}` and `[]` of these on one line, and literal text (`|`). Undefined for every other one, right or wrong:
 * the library decides on those. The data is what the library gives by the strict profile. `spots` is filled where it is given.
 */
export function readPlainYaml(text: string, spots?: PlainSpots): { readonly data: unknown } | undefined {
  if (text.length > MAX_LENGTH || UNUSUAL.test(text)) return undefined;
  const raw = text.split("\n");
  const lines = linesOf(raw);
  if (lines === undefined) return undefined;
  try {
    const reader = new PlainReader(lines, raw, spots);
    const data = reader.map(lines[0]?.indent ?? 0);
    return reader.isAtEnd ? { data } : undefined;
  } catch (thrown) {
    if (thrown === NOT_PLAIN) return undefined;
    throw thrown;
  }
}

/** Tabs, line breaks of other systems and what is beyond ASCII have rules of their own. */
const UNUSUAL = /[^\n\x20-\x7e]/;
const BLANK = 0x20;
const HASH = 0x23;

interface Line {
  readonly indent: number;
  /** Without the indentation and the blanks at the end. */
  readonly content: string;
  /** From 0. */
  readonly number: number;
}

/** Those that say something; undefined where there is nothing or too much of it. */
function linesOf(raw: readonly string[]): Line[] | undefined {
  const lines: Line[] = [];
  for (let number = 0; number < raw.length; number += 1) {
    const line = raw[number] as string;
    const indent = indentOf(line);
    if (indent === line.length || line.charCodeAt(indent) === HASH) continue;
    const content = line.slice(indent).trimEnd();
    if (number === 0 && indent === 0 && content === "---") continue;
    if (indent > MAX_INDENT) return undefined;
    lines.push({ indent, content, number });
  }
  return lines.length === 0 ? undefined : lines;
}

function indentOf(line: string): number {
  let indent = 0;
  while (line.charCodeAt(indent) === BLANK) indent += 1;
  return indent;
}

/** `key:` with a blank or nothing behind it. Keys that are no text in YAML, merges and members of every object are not plain. */
const MEMBER = /^(?:[A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]{0,14}):(?: |$)/;
class PlainReader {
  readonly #lines: Line[];
  readonly #raw: readonly string[];
  readonly #spots: PlainSpots | undefined;
  #at = 0;

  constructor(lines: Line[], raw: readonly string[], spots: PlainSpots | undefined) {
    this.#lines = lines;
    this.#raw = raw;
    this.#spots = spots;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#lines.length;
  }

  map(indent: number): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    for (let line = this.#lineAt(indent); line !== undefined; line = this.#lineAt(indent)) {
      const { content } = line;
      if (!MEMBER.test(content)) throw NOT_PLAIN;
      const colon = content.indexOf(":");
      const key = content.slice(0, colon);
      if (!isKey(key) || Object.hasOwn(members, key)) throw NOT_PLAIN;
      this.#note(members, key, line.number, indent);
      this.#at += 1;
      members[key] = this.#value(content.slice(colon + 1).trimStart(), indent);
    }
    return members;
  }

  #list(indent: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.#lineAt(indent); line !== undefined; line = this.#lineAt(indent)) {
      if (!isItem(line.content)) break;
      const inside = line.content.slice(1).trimStart();
      const column = indent + line.content.length - inside.length;
      this.#note(items, items.length, line.number, column);
      if (MEMBER.test(inside)) {
        // The map of the item begins on its line, where its first key stands.
        this.#lines[this.#at] = { indent: column, content: inside, number: line.number };
        items.push(this.map(column));
        continue;
      }
      this.#at += 1;
      if (inside === "" || inside.startsWith("#")) throw NOT_PLAIN;
      items.push(this.#value(inside, indent));
    }
    return items;
  }

  #note(owner: object, member: string | number, number: number, indent: number): void {
    if (this.#spots === undefined) return;
    const members = this.#spots.get(owner) ?? new Map();
    this.#spots.set(owner, members);
    members.set(member, { line: number + 1, column: indent + 1 });
  }

  /** What stands behind a key, or below it. A list may stand at the column of its key. */
  #value(rest: string, indent: number): unknown {
    if (rest === "|" || rest === "|-") return this.#literal(indent, rest === "|" ? "\n" : "");
    const next = this.#lines[this.#at];
    if (rest !== "" && rest.charCodeAt(0) !== HASH) {
      // A line further in would go on with the text.
      if (next !== undefined && next.indent > indent) throw NOT_PLAIN;
      return rest.startsWith("{") || rest.startsWith("[") ? readFlow(rest) : scalar(rest);
    }
    if (next === undefined || next.indent < indent) return null;
    if (isItem(next.content)) return this.#list(next.indent);
    return next.indent === indent ? null : this.map(next.indent);
  }

  /** Lines as they stand, further in than `outer`. Those that say nothing count between others, and not at the end. */
  #literal(outer: number, end: string): string {
    const start = (this.#lines[this.#at - 1]?.number ?? 0) + 1;
    const first = this.#raw[start] ?? "";
    const indent = indentOf(first);
    if (indent <= outer || indent === first.length) throw NOT_PLAIN;
    let stop = start + 1;
    let last = start;
    for (; stop < this.#raw.length; stop += 1) {
      const line = this.#raw[stop] as string;
      const own = indentOf(line);
      if (own < line.length && own < indent) {
        if (own > outer) throw NOT_PLAIN;
        break;
      }
      // Blanks that stand out are text.
      if (own === line.length && own > indent) throw NOT_PLAIN;
      if (own < line.length) last = stop;
    }
    // Where the text ends without a line break, the library decides whether there is one.
    if (last === this.#raw.length - 1) throw NOT_PLAIN;
    while (this.#at < this.#lines.length && (this.#lines[this.#at] as Line).number < stop) this.#at += 1;
    const lines = this.#raw.slice(start, last + 1).map((line) => line.slice(indent));
    return lines.join("\n") + end;
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
