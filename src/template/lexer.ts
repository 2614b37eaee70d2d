/** Splits a template into tokens. Inside an action spaces are tokens too: `.a .b` are two operands, `.a.b` is one. */
export type TokenType =
  | "text"
  | "left"
  | "right"
  | "space"
  | "field"
  | "variable"
  | "identifier"
  | "keyword"
  | "string"
  | "char"
  | "number"
  | "bool"
  | "nil"
  | "dot"
  | "pipe"
  | "left-paren"
  | "right-paren"
  | "declare"
  | "assign"
  | "punctuation"
  | "eof"
  | "error";

export interface Token {
  readonly type: TokenType;
  readonly text: string;
  readonly pos: number;
}

const KEYWORDS = new Set(["break", "continue", "block", "define", "else", "end", "if", "range", "template", "with"]);
const SPACE = /[ \t\r\n]/;
const ALPHANUMERIC = /[\p{L}\p{Nd}_]/u;
const NUMBER =
  /^[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[\d_]*)?|0[oO][0-7_]*|0[bB][01_]*|[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?[\d_]*)?)i?/;
const LEFT = "{{";
const RIGHT = "}}";

export function tokenize(source: string): readonly Token[] {
  const lexer = new Lexer(source);
  while (lexer.step());
  return lexer.tokens;
}

class Lexer {
  readonly tokens: Token[] = [];
  readonly #source: string;
  #pos = 0;
  #inAction = false;
  #parens = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Reads one token or one piece of text; false at the end and after an error. */
  step(): boolean {
    return this.#inAction ? this.#action() : this.#text();
  }

  #emit(type: TokenType, length: number): true {
    this.tokens.push({ type, text: this.#source.slice(this.#pos, this.#pos + length), pos: this.#pos });
    this.#pos += length;
    return true;
  }

  #fail(message: string, pos = this.#pos): false {
    this.tokens.push({ type: "error", text: message, pos });
    return false;
  }

  #text(): boolean {
    const source = this.#source;
    const open = source.indexOf(LEFT, this.#pos);
    if (open === -1) {
      if (this.#pos < source.length) this.#emit("text", source.length - this.#pos);
      this.#emit("eof", 0);
      return false;
    }
    // "{{- " trims the text before it; "{{-3}}" is a number.
    const trims = source[open + 2] === "-" && SPACE.test(source[open + 3] ?? "");
    let end = open;
    if (trims) while (end > this.#pos && SPACE.test(source[end - 1] ?? "")) end -= 1;
    if (end > this.#pos) this.#emit("text", end - this.#pos);
    this.#pos = open;
    const inside = open + LEFT.length + (trims ? 2 : 0);
    if (source.startsWith("/*", inside)) return this.#comment(inside);
    this.#emit("left", inside - open);
    this.#inAction = true;
    this.#parens = 0;
    return true;
  }

  #comment(start: number): boolean {
    const close = this.#source.indexOf("*/", start + 2);
    if (close === -1) return this.#fail("unclosed comment", start);
    this.#pos = close + 2;
    const trim = this.#trimmedRight();
    if (!trim && !this.#source.startsWith(RIGHT, this.#pos)) {
      return this.#fail("comment ends before closing delimiter", start);
    }
    this.#closeAction(trim);
    return true;
  }

  /** At " -}}": the text after it loses its leading space. */
  #trimmedRight(): boolean {
    return SPACE.test(this.#source[this.#pos] ?? "") && this.#source.startsWith(`-${RIGHT}`, this.#pos + 1);
  }

  #closeAction(trim: boolean): void {
    this.#pos += RIGHT.length + (trim ? 2 : 0);
    if (trim) while (SPACE.test(this.#source[this.#pos] ?? "")) this.#pos += 1;
    this.#inAction = false;
  }

  #action(): boolean {
    const trim = this.#trimmedRight();
    if (trim || this.#source.startsWith(RIGHT, this.#pos)) {
      if (this.#parens > 0) return this.#fail("unclosed left paren");
      this.tokens.push({ type: "right", text: RIGHT, pos: this.#pos });
      this.#closeAction(trim);
      return true;
    }
    const char = this.#source[this.#pos];
    if (char === undefined) return this.#fail("unclosed action");
    if (SPACE.test(char)) return this.#space();
    switch (char) {
      case "=":
        return this.#emit("assign", 1);
      case ":":
        return this.#source[this.#pos + 1] === "=" ? this.#emit("declare", 2) : this.#fail("expected :=");
      case "|":
        return this.#emit("pipe", 1);
      case '"':
        return this.#quoted('"', "string", "unterminated quoted string");
      case "'":
        return this.#quoted("'", "char", "unterminated character constant");
      case "`":
        return this.#raw();
      case "(":
        this.#parens += 1;
        return this.#emit("left-paren", 1);
      case ")":
        this.#parens -= 1;
        return this.#parens < 0 ? this.#fail('unexpected ")"') : this.#emit("right-paren", 1);
      case "$":
        return this.#name("variable", 1);
      case ".":
        if (!/\d/.test(this.#source[this.#pos + 1] ?? "")) return this.#name("field", 1);
    }
    if (/[+\-.\d]/.test(char)) return this.#number();
    if (ALPHANUMERIC.test(this.#charAt(this.#pos))) return this.#name("identifier", 0);
    if (char > " " && char < "\x7f") return this.#emit("punctuation", 1);
    return this.#fail(`unrecognized character in action: ${describeChar(this.#charAt(this.#pos))}`);
  }

  #space(): true {
    let length = 1;
    while (SPACE.test(this.#source[this.#pos + length] ?? "")) length += 1;
    // The last blank before "-}}" belongs to the delimiter.
    if (this.#source.startsWith(`-${RIGHT}`, this.#pos + length)) length -= 1;
    return length === 0 ? true : this.#emit("space", length);
  }

  #quoted(quote: string, type: "string" | "char", unterminated: string): boolean {
    let end = this.#pos + 1;
    for (; ; end += 1) {
      const char = this.#source[end];
      if (char === undefined || char === "\n") return this.#fail(unterminated);
      if (char === "\\" && this.#source[end + 1] !== "\n") end += 1;
      else if (char === quote) return this.#emit(type, end + 1 - this.#pos);
    }
  }

  #raw(): boolean {
    const end = this.#source.indexOf("`", this.#pos + 1);
    return end === -1 ? this.#fail("unterminated raw quoted string") : this.#emit("string", end + 1 - this.#pos);
  }

  #number(): boolean {
    const [matched = ""] = NUMBER.exec(this.#source.slice(this.#pos, this.#pos + 128)) ?? [];
    const end = this.#pos + matched.length;
    if (matched.length === 0 || ALPHANUMERIC.test(this.#charAt(end)) || !/\d/.test(matched)) {
      const shown = this.#source.slice(this.#pos, end + this.#charAt(end).length);
      return this.#fail(`bad number syntax: ${JSON.stringify(shown)}`);
    }
    return this.#emit("number", matched.length);
  }

  /** A field, a variable or a word; `prefix` characters were recognised already. */
  #name(type: "field" | "variable" | "identifier", prefix: number): boolean {
    let end = this.#pos + prefix;
    for (let char = this.#charAt(end); char !== "" && ALPHANUMERIC.test(char); char = this.#charAt(end)) {
      end += char.length;
    }
    const length = end - this.#pos;
    if (!this.#endsName(end)) return this.#fail(`bad character ${describeChar(this.#charAt(end))}`);
    const word = this.#source.slice(this.#pos, end);
    if (type === "field") return this.#emit(length === 1 ? "dot" : "field", length);
    if (type === "variable") return this.#emit("variable", length);
    if (KEYWORDS.has(word)) return this.#emit("keyword", length);
    if (word === "true" || word === "false") return this.#emit("bool", length);
    return this.#emit(word === "nil" ? "nil" : "identifier", length);
  }

  #endsName(pos: number): boolean {
    const char = this.#source[pos];
    return char === undefined || SPACE.test(char) || ".,|:)(=".includes(char) || this.#source.startsWith(RIGHT, pos);
  }

  #charAt(pos: number): string {
    const code = this.#source.codePointAt(pos);
    return code === undefined ? "" : String.fromCodePoint(code);
  }
}

function describeChar(char: string): string {
  if (char === "") return "EOF";
  const hex = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `U+${hex} '${char}'`;
}
