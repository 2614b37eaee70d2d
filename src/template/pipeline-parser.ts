import { quoteGo, unquoteGo } from "../base/go-quote.ts";
import { type Command, type Expression, type Pipeline, printExpression } from "./ast.ts";
import type { TokenType } from "./lexer.ts";
import type { TokenReader } from "./token-reader.ts";

const MAX_UINT64 = 2n ** 64n - 1n;
const MIN_INT64 = -(2n ** 63n);

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
const CONSTANTS: ReadonlySet<Expression["kind"]> = new Set(["bool", "dot", "nil", "number", "string"]);

/** What stands inside an action: declarations, commands, operands. Knows which variables and functions are in scope. */
export class PipelineParser {
  readonly #tokens: TokenReader;
  readonly #hasFunction: (name: string) => boolean;
  #variables = ["$"];

  constructor(tokens: TokenReader, hasFunction: (name: string) => boolean) {
    this.#tokens = tokens;
    this.#hasFunction = hasFunction;
  }

  /** Variables declared inside are unknown behind the block. */
  scoped<Result>(body: () => Result): Result {
    const scope = this.#variables.length;
    const result = body();
    this.#variables.length = scope;
    return result;
  }

  /** A body that sees no variables of the template around it. */
  separate<Result>(body: () => Result): Result {
    const outer = this.#variables;
    this.#variables = ["$"];
    const result = body();
    this.#variables = outer;
    return result;
  }

  parse(context: string, end: "right" | "right-paren"): Pipeline {
    const pos = this.#tokens.peekNonSpace().pos;
    const { variables, assigns } = this.#declarations(context);
    const commands: Command[] = [];
    for (;;) {
      const token = this.#tokens.peekNonSpace();
      if (token.type === end) {
        this.#tokens.next();
        this.#check(commands, context);
        // Known only behind their own pipeline: `$x := $x` refers to an outer one.
        if (!assigns) this.#variables.push(...variables);
        return { pos, variables, assigns, commands };
      }
      if (!OPERAND_TOKENS.has(token.type)) this.#tokens.unexpected(this.#tokens.next(), context);
      commands.push(this.#command());
    }
  }

  #declarations(context: string): { readonly variables: readonly string[]; readonly assigns: boolean } {
    const start = this.#tokens.mark();
    const variables: string[] = [];
    while (this.#tokens.peekNonSpace().type === "variable") {
      const variable = this.#tokens.next();
      const after = this.#tokens.peekNonSpace();
      if (after.type === "declare" || after.type === "assign") {
        this.#tokens.next();
        variables.push(variable.text);
        const assigns = after.type === "assign";
        if (assigns) for (const name of variables) this.#checkVariable(name);
        return { variables, assigns };
      }
      if (after.type !== "punctuation" || after.text !== ",") break;
      this.#tokens.next();
      variables.push(variable.text);
      if (context !== "range" || variables.length > 1) this.#tokens.fail(`too many declarations in ${context}`);
      if (this.#tokens.peekNonSpace().type !== "variable") this.#tokens.fail("range can only initialize variables");
    }
    this.#tokens.reset(start);
    return { variables: [], assigns: false };
  }

  #check(commands: readonly Command[], context: string): void {
    if (commands.length === 0) this.#tokens.fail(`missing value for ${context}`);
    const misplaced = commands.findIndex((command, index) => index > 0 && CONSTANTS.has(command.args[0].kind));
    if (misplaced > 0) this.#tokens.fail(`non executable command in pipeline stage ${misplaced + 1}`);
  }

  #command(): Command {
    const pos = this.#tokens.peekNonSpace().pos;
    const args: Expression[] = [];
    for (;;) {
      this.#tokens.peekNonSpace();
      const operand = this.#operand();
      if (operand !== undefined) args.push(operand);
      const token = this.#tokens.next();
      if (token.type === "space") continue;
      if (token.type === "right" || token.type === "right-paren") this.#tokens.back();
      else if (token.type !== "pipe") this.#tokens.unexpected(token, "operand");
      break;
    }
    const [first, ...rest] = args;
    if (first === undefined) this.#tokens.fail("empty command");
    return { pos, args: [first, ...rest] };
  }

  #operand(): Expression | undefined {
    const operand = this.#term();
    if (operand === undefined || this.#tokens.peek().type !== "field") return operand;
    const pos = this.#tokens.peek().pos;
    const names: string[] = [];
    while (this.#tokens.peek().type === "field") names.push(this.#tokens.next().text.slice(1));
    if (operand.kind === "field" || operand.kind === "variable") {
      return { ...operand, pos, names: [...operand.names, ...names] };
    }
    if (operand.kind === "function" || operand.kind === "pipeline") return { kind: "chain", pos, operand, names };
    this.#tokens.fail(`unexpected . after term ${quoteGo(printExpression(operand))}`);
  }

  #term(): Expression | undefined {
    const token = this.#tokens.peekNonSpace();
    if (!OPERAND_TOKENS.has(token.type)) return undefined;
    this.#tokens.next();
    const { pos, text } = token;
    switch (token.type) {
      case "identifier":
        if (!this.#hasFunction(text)) this.#tokens.fail(`function ${quoteGo(text)} not defined`);
        return { kind: "function", pos, name: text };
      case "variable":
        this.#checkVariable(text);
        return { kind: "variable", pos, name: text, names: [] };
      case "field":
        return { kind: "field", pos, names: [text.slice(1)] };
      case "bool":
        return { kind: "bool", pos, value: text === "true" };
      case "string":
        return { kind: "string", pos, text, value: this.#tokens.unquote(token) };
      case "char":
      case "number": {
        const value = parseNumber(text);
        if (typeof value === "string") this.#tokens.fail(value);
        return { kind: "number", pos, text, value };
      }
      case "left-paren":
        return this.#tokens.nested(() => {
          const pipeline = this.parse("parenthesized pipeline", "right-paren");
          return { kind: "pipeline", pos, pipeline };
        });
      default:
        return { kind: token.type === "nil" ? "nil" : "dot", pos };
    }
  }

  #checkVariable(name: string): void {
    if (!this.#variables.includes(name)) this.#tokens.fail(`undefined variable ${quoteGo(name)}`);
  }
}

/** A Go number or character constant; a string result is what is wrong with it. Integers beyond 2^53 stay exact as bigint. */
export function parseNumber(text: string): number | bigint | string {
  if (text.startsWith("'")) {
    const char = unquoteGo(text);
    return char === undefined ? `malformed character constant: ${text}` : (char.codePointAt(0) ?? 0);
  }
  const bad = `bad number syntax: ${JSON.stringify(text)}`;
  if (/i$/.test(text) && !/^[+-]?0[xX]/.test(text)) return `complex constant ${text} is not supported`;
  // Underscores only between digits (or after the base prefix).
  if (/__|_$|^[+-]?_|_\.|\._|_[eEpP+-]|[eE+-]_/.test(text)) return bad;
  const digits = text.replaceAll("_", "");
  const integer = parseInteger(digits);
  if (integer !== undefined) {
    if (integer > MAX_UINT64 || integer < MIN_INT64) return `integer overflow: ${JSON.stringify(text)}`;
    return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
  }
  const float = /^[+-]?0[xX]/.test(digits) ? parseHexFloat(digits) : parseDecimal(digits);
  return Number.isFinite(float) ? float : bad;
}

function parseInteger(digits: string): bigint | undefined {
  const sign = digits.startsWith("-") ? -1n : 1n;
  const body = digits.replace(/^[+-]/, "");
  if (/^0[xX][0-9a-fA-F]+$/.test(body) || /^0[oO][0-7]+$/.test(body) || /^0[bB][01]+$/.test(body))
    return sign * BigInt(body);
  if (/^0[0-7]+$/.test(body)) return sign * BigInt(`0o${body.slice(1)}`);
  return /^(0|[1-9]\d*)$/.test(body) ? sign * BigInt(body) : undefined;
}

function parseDecimal(digits: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(digits) && !/^[+-]?0\d+$/.test(digits)
    ? Number(digits)
    : Number.NaN;
}

function parseHexFloat(digits: string): number {
  const matched = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)$/.exec(digits);
  if (matched === null) return Number.NaN;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = matched;
  if (whole + fraction === "") return Number.NaN;
  const mantissa = Number.parseInt(whole + fraction, 16) * 2 ** (-4 * fraction.length);
  return (sign === "-" ? -1 : 1) * mantissa * 2 ** Number(exponent);
}
