import { isKey, NOT_PLAIN, scalar } from "./plain-scalar.ts";

/** Deeper ones go through the library. */
const MAX_DEPTH = 20;
const TEXTS = /^\["[^"\\]*"(?:, ?"[^"\\]*")*\]$/;

/** `{ name: web, ports: [80, 443] }`: a whole line of it, of scalars that are plain. Throws NOT_PLAIN at anything else. */
export function readFlow(text: string): unknown {
  if (text === "{}") return {};
  if (text === "[]") return [];
  if (TEXTS.test(text)) return JSON.parse(text);
  const reader = new FlowReader(text);
  const value = reader.value(0);
  if (!reader.isAtEnd) throw NOT_PLAIN;
  return value;
}

const BLANKS = / */y;
/** Of a map, with the blank that makes it one. */
const KEY = /([A-Za-z_][A-Za-z0-9_./-]*): +/y;
/** In quotes without escapes, or one word without signs that mean something here. */
const SCALAR = /"[^"\\]*"|'[^']*'|[A-Za-z0-9_./][A-Za-z0-9_./*-]*/y;

class FlowReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw NOT_PLAIN;
    if (this.#skip("{")) return this.#map(depth);
    if (this.#skip("[")) return this.#list(depth);
    return scalar(this.#take(SCALAR)[0]);
  }

  #map(depth: number): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.#take(BLANKS);
    if (this.#skip("}")) return members;
    do {
      this.#take(BLANKS);
      const [, key = ""] = this.#take(KEY);
      if (!isKey(key) || Object.hasOwn(members, key)) throw NOT_PLAIN;
      members[key] = this.value(depth + 1);
      this.#take(BLANKS);
    } while (this.#skip(","));
    if (!this.#skip("}")) throw NOT_PLAIN;
    return members;
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#take(BLANKS);
    if (this.#skip("]")) return items;
    do {
      this.#take(BLANKS);
      items.push(this.value(depth + 1));
      this.#take(BLANKS);
    } while (this.#skip(","));
    if (!this.#skip("]")) throw NOT_PLAIN;
    return items;
  }

  #skip(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #take(pattern: RegExp): RegExpExecArray {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) throw NOT_PLAIN;
    this.#at += found[0].length;
    return found;
  }
}
