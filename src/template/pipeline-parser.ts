import { quoteGo } from "../base/go-quote.ts";
import type { Command, Expression, Pipeline } from "./ast.ts";
import { printExpression } from "./ast.ts";
import type { TokenType } from "./lexer.ts";
import { parseNumber } from "./number-literal.ts";
import type { TokenReader } from "./token-reader.ts";

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
