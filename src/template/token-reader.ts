import { quoteGo, unquoteGo } from "../base/go-quote.ts";
import type { Token, TokenType } from "./lexer.ts";
import { tokenize } from "./lexer.ts";
import { positionAt, TemplateError } from "./template-error.ts";

/** The tokens of one template with a position in them, and errors that name that position. */
export class TokenReader {
  readonly #name: string;
  readonly #source: string;
  readonly #tokens: readonly Token[];
  readonly #maxNesting: number;
  #index = 0;
  #nesting = 0;
  /** Where the action begins that is being read; -1 outside. */
  #actionPos = -1;

  constructor(name: string, source: string, maxNesting: number) {
    this.#name = name;
    this.#source = source;
    this.#tokens = tokenize(source);
    this.#maxNesting = maxNesting;
  }

  peek(): Token {
    return this.#tokens[Math.min(this.#index, this.#tokens.length - 1)] as Token;
  }

  next(): Token {
    const token = this.peek();
    this.#index += 1;
    return token;
  }

  peekNonSpace(): Token {
    while (this.peek().type === "space") this.#index += 1;
    return this.peek();
  }

  expect(type: TokenType, context: string): Token {
    this.peekNonSpace();
    const token = this.next();
    if (token.type !== type) this.unexpected(token, context);
    return token;
  }

  /** Puts the last token back. */
  back(): void {
    this.#index -= 1;
  }

  mark(): number {
    return this.#index;
  }

  reset(mark: number): void {
    this.#index = mark;
  }

  enterAction(pos: number): void {
    this.#actionPos = pos;
  }

  leaveAction(): void {
    this.#actionPos = -1;
  }

  /** Recursive descent must not overflow the stack on hostile input. */
  nested<Result>(body: () => Result): Result {
    this.#nesting += 1;
    if (this.#nesting > this.#maxNesting) {
      const position = positionAt(this.#name, this.#source, this.peek().pos);
      const message = `template: ${this.#name}:${position.line}: nesting deeper than ${this.#maxNesting}`;
      throw new TemplateError("too-deep", message, position);
    }
    const result = body();
    this.#nesting -= 1;
    return result;
  }

  /** Complains about the last token that was read. */
  fail(message: string): never {
    const token = this.#tokens[Math.max(0, Math.min(this.#index, this.#tokens.length) - 1)];
    const position = positionAt(this.#name, this.#source, token?.pos ?? 0);
    throw new TemplateError("parse", `template: ${this.#name}:${position.line}: ${message}`, position);
  }

  unexpected(token: Token, context: string): never {
    if (token.type !== "error") this.fail(`unexpected ${describe(token)} in ${context}`);
    const line = positionAt(this.#name, this.#source, token.pos).line;
    const start = this.#actionPos < 0 ? line : positionAt(this.#name, this.#source, this.#actionPos).line;
    if (start === line) this.fail(token.text);
    this.fail(`${token.text}${token.text.endsWith(" action") ? "" : " in action"} started at ${this.#name}:${start}`);
  }

  unquote(token: Token): string {
    return unquoteGo(token.text) ?? this.fail("invalid syntax");
  }
}

function describe(token: Token): string {
  if (token.type === "eof") return "EOF";
  if (token.type === "keyword") return `<${token.text}>`;
  return [...token.text].length > 10 ? `${quoteGo([...token.text].slice(0, 10).join(""))}...` : quoteGo(token.text);
}
