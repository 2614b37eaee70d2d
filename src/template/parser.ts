import { quoteGo, unquoteGo } from "../protocol/go-quote.ts";
import type { Command, Expression, Node, Pipeline } from "./ast.ts";
import { printExpression } from "./ast.ts";
import type { Token, TokenType } from "./lexer.ts";
import { tokenize } from "./lexer.ts";
import { parseNumber } from "./number-literal.ts";
import { positionAt, TemplateError } from "./template-error.ts";

/** Bodies by name; the text's own body has the name that was passed to `parse`. */
export type TemplateBodies = ReadonlyMap<string, readonly Node[]>;

const OPERAND_TOKENS: ReadonlySet<TokenType> = new Set([
  "bool",
  "char",
  "dot",
  "field",
  "identifier",
  "number",
  "nil",
  "string",
  "variable",
  "left-paren",
]);

type ListEnd = "end" | "else" | "eof";

/** Go's grammar of text/template. `hasFunction` decides at parse time which names may be called. */
export function parse(
  name: string,
  text: string,
  hasFunction: (name: string) => boolean,
  maxNesting: number,
): TemplateBodies {
  return new Parser(name, text, hasFunction, maxNesting).parse();
}

class Parser {
  readonly #name: string;
  readonly #source: string;
  readonly #tokens: readonly Token[];
  readonly #hasFunction: (name: string) => boolean;
  readonly #maxNesting: number;
  readonly #bodies = new Map<string, readonly Node[]>();
  #index = 0;
  #nesting = 0;
  #rangeDepth = 0;
  /** Where the action begins that is being read; -1 outside. */
  #actionPos = -1;
  #variables = ["$"];

  constructor(name: string, source: string, hasFunction: (name: string) => boolean, maxNesting: number) {
    this.#name = name;
    this.#source = source;
    this.#tokens = tokenize(source);
    this.#hasFunction = hasFunction;
    this.#maxNesting = maxNesting;
  }

  parse(): TemplateBodies {
    const { nodes, end } = this.#list(true);
    if (end !== "eof") this.#fail(`unexpected {{${end}}}`);
    this.#define(this.#name, nodes);
    return this.#bodies;
  }

  // Tokens

  #peek(): Token {
    return this.#tokens[Math.min(this.#index, this.#tokens.length - 1)] as Token;
  }

  #next(): Token {
    const token = this.#peek();
    this.#index += 1;
    return token;
  }

  #peekNonSpace(): Token {
    while (this.#peek().type === "space") this.#index += 1;
    return this.#peek();
  }

  #nextNonSpace(): Token {
    this.#peekNonSpace();
    return this.#next();
  }

  #fail(message: string): never {
    const token = this.#tokens[Math.max(0, Math.min(this.#index, this.#tokens.length) - 1)];
    const position = positionAt(this.#name, this.#source, token?.pos ?? 0);
    throw new TemplateError("parse", `template: ${this.#name}:${position.line}: ${message}`, position);
  }

  #unexpected(token: Token, context: string): never {
    if (token.type !== "error") this.#fail(`unexpected ${describe(token)} in ${context}`);
    const line = positionAt(this.#name, this.#source, token.pos).line;
    const start = this.#actionPos < 0 ? line : positionAt(this.#name, this.#source, this.#actionPos).line;
    if (start === line) this.#fail(token.text);
    this.#fail(`${token.text}${token.text.endsWith(" action") ? "" : " in action"} started at ${this.#name}:${start}`);
  }

  #expect(type: TokenType, context: string): Token {
    const token = this.#nextNonSpace();
    if (token.type !== type) this.#unexpected(token, context);
    return token;
  }

  /** Recursive descent must not overflow the stack on hostile input. */
  #nested<Result>(body: () => Result): Result {
    this.#nesting += 1;
    if (this.#nesting > this.#maxNesting) {
      const position = positionAt(this.#name, this.#source, this.#peek().pos);
      const message = `template: ${this.#name}:${position.line}: nesting deeper than ${this.#maxNesting}`;
      throw new TemplateError("too-deep", message, position);
    }
    const result = body();
    this.#nesting -= 1;
    return result;
  }

  // Nodes

  #list(top: boolean): { readonly nodes: readonly Node[]; readonly end: ListEnd } {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#next();
      if (token.type === "text") {
        nodes.push({ kind: "text", pos: token.pos, text: token.text });
      } else if (token.type === "eof") {
        if (!top) this.#fail("unexpected EOF");
        return { nodes, end: "eof" };
      } else if (token.type === "left") {
        this.#actionPos = token.pos;
        const end = this.#action(nodes, top);
        this.#actionPos = -1;
        if (end !== undefined) return { nodes, end };
      } else {
        this.#unexpected(token, "input");
      }
    }
  }

  #action(nodes: Node[], top: boolean): "end" | "else" | undefined {
    const token = this.#peekNonSpace();
    if (token.type !== "keyword" || (token.text === "define" && !top)) {
      const pipeline = this.#pipeline("command", "right");
      nodes.push({ kind: "action", pos: pipeline.pos, pipeline });
      return undefined;
    }
    this.#next();
    switch (token.text) {
      case "end":
        this.#expect("right", "end");
        return "end";
      case "else":
        // "else if" and "else with" are read by the branch they belong to.
        if (this.#peekNonSpace().type !== "keyword") this.#expect("right", "else");
        return "else";
      case "define":
        this.#definition();
        return undefined;
      case "break":
      case "continue":
        this.#expect("right", `{{${token.text}}}`);
        if (this.#rangeDepth === 0) this.#fail(`{{${token.text}}} outside {{range}}`);
        nodes.push({ kind: token.text, pos: token.pos });
        return undefined;
      case "template":
        nodes.push(this.#templateCall(token.pos));
        return undefined;
      case "block":
        nodes.push(this.#block(token.pos));
        return undefined;
      case "if":
      case "with":
      case "range":
        nodes.push(this.#branch(token.text));
        return undefined;
      default:
        this.#unexpected(token, "input");
    }
  }

  #branch(kind: "if" | "with" | "range"): Node {
    return this.#nested(() => {
      const scope = this.#variables.length;
      const pipeline = this.#pipeline(kind, "right");
      if (kind === "range") this.#rangeDepth += 1;
      const body = this.#list(false);
      if (kind === "range") this.#rangeDepth -= 1;
      let otherwise: readonly Node[] = [];
      if (body.end === "else") {
        const follower = this.#peek();
        if (follower.type === "keyword") {
          this.#next();
          if (kind === "range" || follower.text !== kind) this.#unexpected(follower, "input");
          otherwise = [this.#branch(kind)];
        } else {
          const rest = this.#list(false);
          if (rest.end !== "end") this.#fail("expected end; found {{else}}");
          otherwise = rest.nodes;
        }
      }
      this.#variables.length = scope;
      return { kind, pos: pipeline.pos, pipeline, body: body.nodes, otherwise };
    });
  }

  #definition(): void {
    const name = this.#templateName("define clause");
    this.#expect("right", "define clause");
    this.#define(name, this.#separateBody("define clause"));
  }

  #block(pos: number): Node {
    const name = this.#templateName("block clause");
    const pipeline = this.#pipeline("block clause", "right");
    this.#define(name, this.#separateBody("block clause"));
    return { kind: "template", pos, name, pipeline };
  }

  /** A body that sees no variables of the place where it is written. */
  #separateBody(context: string): readonly Node[] {
    return this.#nested(() => {
      const outer = { variables: this.#variables, rangeDepth: this.#rangeDepth };
      this.#variables = ["$"];
      this.#rangeDepth = 0;
      const { nodes, end } = this.#list(false);
      if (end !== "end") this.#fail(`unexpected {{${end}}} in ${context}`);
      this.#variables = outer.variables;
      this.#rangeDepth = outer.rangeDepth;
      return nodes;
    });
  }

  #define(name: string, body: readonly Node[]): void {
    const present = this.#bodies.get(name);
    if (present === undefined || isEmpty(present)) this.#bodies.set(name, body);
    else if (!isEmpty(body)) this.#fail(`multiple definition of template ${quoteGo(name)}`);
  }

  #templateCall(pos: number): Node {
    const name = this.#templateName("template clause");
    if (this.#peekNonSpace().type === "right") {
      this.#next();
      return { kind: "template", pos, name, pipeline: undefined };
    }
    return { kind: "template", pos, name, pipeline: this.#pipeline("template clause", "right") };
  }

  #templateName(context: string): string {
    const token = this.#expect("string", context);
    return this.#unquote(token);
  }

  // Pipelines

  #pipeline(context: string, end: "right" | "right-paren"): Pipeline {
    const pos = this.#peekNonSpace().pos;
    const { variables, assigns } = this.#declarations(context);
    const commands: Command[] = [];
    for (;;) {
      const token = this.#peekNonSpace();
      if (token.type === end) {
        this.#next();
        this.#check(commands, context);
        // Known only behind their own pipeline: `$x := $x` refers to an outer one.
        if (!assigns) this.#variables.push(...variables);
        return { pos, variables, assigns, commands };
      }
      if (!OPERAND_TOKENS.has(token.type)) this.#unexpected(this.#next(), context);
      commands.push(this.#command());
    }
  }

  #declarations(context: string): { readonly variables: readonly string[]; readonly assigns: boolean } {
    const start = this.#index;
    const variables: string[] = [];
    while (this.#peekNonSpace().type === "variable") {
      const variable = this.#next();
      const after = this.#peekNonSpace();
      if (after.type === "declare" || after.type === "assign") {
        this.#next();
        variables.push(variable.text);
        const assigns = after.type === "assign";
        if (assigns) for (const name of variables) this.#checkVariable(name);
        return { variables, assigns };
      }
      if (after.type !== "punctuation" || after.text !== ",") break;
      this.#next();
      variables.push(variable.text);
      if (context !== "range" || variables.length > 1) this.#fail(`too many declarations in ${context}`);
      if (this.#peekNonSpace().type !== "variable") this.#fail("range can only initialize variables");
    }
    this.#index = start;
    return { variables: [], assigns: false };
  }

  #check(commands: readonly Command[], context: string): void {
    if (commands.length === 0) this.#fail(`missing value for ${context}`);
    for (const [index, command] of commands.entries()) {
      const kind = command.args[0].kind;
      if (
        index > 0 &&
        (kind === "bool" || kind === "dot" || kind === "nil" || kind === "number" || kind === "string")
      ) {
        this.#fail(`non executable command in pipeline stage ${index + 1}`);
      }
    }
  }

  #command(): Command {
    const pos = this.#peekNonSpace().pos;
    const args: Expression[] = [];
    for (;;) {
      this.#peekNonSpace();
      const operand = this.#operand();
      if (operand !== undefined) args.push(operand);
      const token = this.#next();
      if (token.type === "space") continue;
      if (token.type === "right" || token.type === "right-paren") this.#index -= 1;
      else if (token.type !== "pipe") this.#unexpected(token, "operand");
      break;
    }
    const [first, ...rest] = args;
    if (first === undefined) this.#fail("empty command");
    return { pos, args: [first, ...rest] };
  }

  #operand(): Expression | undefined {
    const operand = this.#term();
    if (operand === undefined || this.#peek().type !== "field") return operand;
    const pos = this.#peek().pos;
    const names: string[] = [];
    while (this.#peek().type === "field") names.push(this.#next().text.slice(1));
    if (operand.kind === "field" || operand.kind === "variable") {
      return { ...operand, pos, names: [...operand.names, ...names] };
    }
    if (operand.kind === "function" || operand.kind === "pipeline") return { kind: "chain", pos, operand, names };
    this.#fail(`unexpected . after term ${quoteGo(printExpression(operand))}`);
  }

  #term(): Expression | undefined {
    const token = this.#peekNonSpace();
    if (!OPERAND_TOKENS.has(token.type)) return undefined;
    this.#next();
    const { pos, text } = token;
    switch (token.type) {
      case "identifier":
        if (!this.#hasFunction(text)) this.#fail(`function ${quoteGo(text)} not defined`);
        return { kind: "function", pos, name: text };
      case "variable":
        this.#checkVariable(text);
        return { kind: "variable", pos, name: text, names: [] };
      case "field":
        return { kind: "field", pos, names: [text.slice(1)] };
      case "bool":
        return { kind: "bool", pos, value: text === "true" };
      case "string":
        return { kind: "string", pos, text, value: this.#unquote(token) };
      case "char":
      case "number": {
        const value = parseNumber(text);
        if (typeof value === "string") this.#fail(value);
        return { kind: "number", pos, text, value };
      }
      case "left-paren":
        return this.#nested(() => {
          const pipeline = this.#pipeline("parenthesized pipeline", "right-paren");
          return { kind: "pipeline", pos, pipeline };
        });
      default:
        return { kind: token.type === "nil" ? "nil" : "dot", pos };
    }
  }

  #checkVariable(name: string): void {
    if (!this.#variables.includes(name)) this.#fail(`undefined variable ${quoteGo(name)}`);
  }

  #unquote(token: Token): string {
    const value = unquoteGo(token.text);
    if (value === undefined) this.#fail("invalid syntax");
    return value;
  }
}

/** White space alone does not make a body. */
function isEmpty(body: readonly Node[]): boolean {
  return body.every((node) => node.kind === "text" && node.text.trim() === "");
}

function describe(token: Token): string {
  if (token.type === "eof") return "EOF";
  if (token.type === "keyword") return `<${token.text}>`;
  return [...token.text].length > 10 ? `${quoteGo([...token.text].slice(0, 10).join(""))}...` : quoteGo(token.text);
}
