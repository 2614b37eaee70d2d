/**
 * Why a text is not an expression of the Common Expression Language, or undefined if it is one. Proxies refuse whole listeners for one broken
 * expression, so that it must be found before. Grammar only: which names and functions there are is the proxy's knowledge.
 */
export function celProblem(expression: string): string | undefined {
  const tokens = tokenize(expression);
  if (typeof tokens === "string") return tokens;
  const parser: Parser = { tokens, at: 0, depth: 0 };
  const problem = parseExpression(parser);
  if (problem !== undefined) return problem;
  return parser.at < tokens.length ? unexpected(parser) : undefined;
}

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|//[^\n]*)`,
    String.raw`(?<text>(?:[rR][bB]?|[bB][rR]?)?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))`,
    String.raw`(?<number>0x[0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+[uU]?)`,
    "(?<name>[A-Za-z_][A-Za-z0-9_]*|`[^`]+`)",
    String.raw`(?<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()[\]{}])`,
  ].join("|"),
  "y",
);

/** Reserved for the languages that embed CEL. */
const RESERVED = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

interface Token {
  readonly kind: "text" | "number" | "name" | "sign";
  readonly text: string;
}

function tokenize(expression: string): readonly Token[] | string {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < expression.length; at = TOKEN.lastIndex) {
    const groups = TOKEN.exec(expression)?.groups;
    if (groups === undefined) return `syntax error at ${JSON.stringify(expression.slice(at, at + 10))}`;
    for (const kind of ["text", "number", "name", "sign"] as const) {
      const text = groups[kind];
      if (text !== undefined) tokens.push({ kind, text });
    }
  }
  return tokens;
}

interface Parser {
  readonly tokens: readonly Token[];
  at: number;
  depth: number;
}

type Problem = string | undefined;

/** Beyond, a proxy gives up as well. */
const MAX_DEPTH = 250;

function peek({ tokens, at }: Parser): string {
  const token = tokens[at];
  return token !== undefined && (token.kind === "sign" || token.text === "in") ? token.text : "";
}

function accept(parser: Parser, ...signs: readonly string[]): boolean {
  const found = peek(parser);
  if (found === "" || !signs.includes(found)) return false;
  parser.at += 1;
  return true;
}

function unexpected({ tokens, at }: Parser): string {
  const token = tokens[at];
  return token === undefined
    ? "syntax error: the expression ends too early"
    : `syntax error at ${JSON.stringify(token.text)}`;
}

function expectSign(parser: Parser, sign: string): Problem {
  return accept(parser, sign) ? undefined : unexpected(parser);
}

function parseExpression(parser: Parser): Problem {
  parser.depth += 1;
  if (parser.depth > MAX_DEPTH) return "the expression is nested too deeply";
  let problem = parseBinary(parser, 0);
  if (problem === undefined && accept(parser, "?")) {
    problem = parseBinary(parser, 0) ?? expectSign(parser, ":") ?? parseExpression(parser);
  }
  parser.depth -= 1;
  return problem;
}

/** From the loosest to the tightest. */
const LEVELS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["<", "<=", ">", ">=", "==", "!=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

function parseBinary(parser: Parser, level: number): Problem {
  const signs = LEVELS[level];
  if (signs === undefined) return parseUnary(parser);
  let problem = parseBinary(parser, level + 1);
  while (problem === undefined && accept(parser, ...signs)) problem = parseBinary(parser, level + 1);
  return problem;
}

function parseUnary(parser: Parser): Problem {
  while (accept(parser, "!", "-"));
  return parsePrimary(parser) ?? parseMembers(parser);
}

function parseMembers(parser: Parser): Problem {
  for (;;) {
    let problem: Problem;
    if (accept(parser, ".")) problem = parseName(parser);
    else if (accept(parser, "[")) problem = parseExpression(parser) ?? expectSign(parser, "]");
    else if (accept(parser, "(")) problem = parseList(parser, ")", parseExpression);
    else if (accept(parser, "{")) problem = parseList(parser, "}", parseEntry);
    else return undefined;
    if (problem !== undefined) return problem;
  }
}

function parsePrimary(parser: Parser): Problem {
  if (accept(parser, "(")) return parseExpression(parser) ?? expectSign(parser, ")");
  if (accept(parser, "[")) return parseList(parser, "]", parseExpression);
  if (accept(parser, "{")) return parseList(parser, "}", parseEntry);
  accept(parser, ".");
  const token = parser.tokens[parser.at];
  if (token?.kind === "name") return parseName(parser);
  if (token === undefined || token.kind === "sign") return unexpected(parser);
  parser.at += 1;
  return undefined;
}

function parseName(parser: Parser): Problem {
  const token = parser.tokens[parser.at];
  if (token?.kind !== "name" || token.text === "in" || RESERVED.has(token.text)) return unexpected(parser);
  parser.at += 1;
  return undefined;
}

function parseEntry(parser: Parser): Problem {
  return parseExpression(parser) ?? expectSign(parser, ":") ?? parseExpression(parser);
}

/** A comma may follow the last one. */
function parseList(parser: Parser, end: string, parseOne: (parser: Parser) => Problem): Problem {
  while (!accept(parser, end)) {
    const problem = parseOne(parser);
    if (problem !== undefined) return problem;
    if (!accept(parser, ",")) return expectSign(parser, end);
  }
  return undefined;
}
