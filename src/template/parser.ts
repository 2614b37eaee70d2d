import { quoteGo } from "../base/go-quote.ts";
import type { Node } from "./ast.ts";
import { PipelineParser } from "./pipeline-parser.ts";
import { TokenReader } from "./token-reader.ts";

/** Bodies by name; the text's own body has the name that was passed to `parse`. */
export type TemplateBodies = ReadonlyMap<string, readonly Node[]>;

type ListEnd = "end" | "else" | "eof";

/** Go's grammar of text/template. `hasFunction` decides at parse time which names may be called. */
export function parse(
  name: string,
  text: string,
  hasFunction: (name: string) => boolean,
  maxNesting: number,
): TemplateBodies {
  const tokens = new TokenReader(name, text, maxNesting);
  return new Parser(name, tokens, new PipelineParser(tokens, hasFunction)).parse();
}

class Parser {
  readonly #name: string;
  readonly #tokens: TokenReader;
  readonly #pipelines: PipelineParser;
  readonly #bodies = new Map<string, readonly Node[]>();
  #rangeDepth = 0;

  constructor(name: string, tokens: TokenReader, pipelines: PipelineParser) {
    this.#name = name;
    this.#tokens = tokens;
    this.#pipelines = pipelines;
  }

  parse(): TemplateBodies {
    const { nodes, end } = this.#list(true);
    if (end !== "eof") this.#tokens.fail(`unexpected {{${end}}}`);
    this.#define(this.#name, nodes);
    return this.#bodies;
  }

  #list(top: boolean): { readonly nodes: readonly Node[]; readonly end: ListEnd } {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#tokens.next();
      if (token.type === "text") {
        nodes.push({ kind: "text", pos: token.pos, text: token.text });
      } else if (token.type === "eof") {
        if (!top) this.#tokens.fail("unexpected EOF");
        return { nodes, end: "eof" };
      } else if (token.type === "left") {
        this.#tokens.enterAction(token.pos);
        const end = this.#action(nodes, top);
        this.#tokens.leaveAction();
        if (end !== undefined) return { nodes, end };
      } else {
        this.#tokens.unexpected(token, "input");
      }
    }
  }

  #action(nodes: Node[], top: boolean): "end" | "else" | undefined {
    const token = this.#tokens.peekNonSpace();
    if (token.type !== "keyword" || (token.text === "define" && !top)) {
      // A variable declared here lives on in the rest of the enclosing block.
      const pipeline = this.#pipelines.parse("command", "right");
      nodes.push({ kind: "action", pos: pipeline.pos, pipeline });
      return undefined;
    }
    this.#tokens.next();
    switch (token.text) {
      case "end":
        this.#tokens.expect("right", "end");
        return "end";
      case "else":
        // "else if" and "else with" are read by the branch they belong to.
        if (this.#tokens.peekNonSpace().type !== "keyword") this.#tokens.expect("right", "else");
        return "else";
      case "define":
        this.#definition();
        return undefined;
      case "break":
      case "continue":
        this.#tokens.expect("right", `{{${token.text}}}`);
        if (this.#rangeDepth === 0) this.#tokens.fail(`{{${token.text}}} outside {{range}}`);
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
        this.#tokens.unexpected(token, "input");
    }
  }

  #branch(kind: "if" | "with" | "range"): Node {
    return this.#tokens.nested(() =>
      this.#pipelines.scoped(() => {
        const pipeline = this.#pipelines.parse(kind, "right");
        if (kind === "range") this.#rangeDepth += 1;
        const body = this.#list(false);
        if (kind === "range") this.#rangeDepth -= 1;
        const otherwise = body.end === "else" ? this.#otherwise(kind) : [];
        return { kind, pos: pipeline.pos, pipeline, body: body.nodes, otherwise };
      }),
    );
  }

  #otherwise(kind: "if" | "with" | "range"): readonly Node[] {
    const follower = this.#tokens.peek();
    if (follower.type === "keyword") {
      this.#tokens.next();
      if (kind === "range" || follower.text !== kind) this.#tokens.unexpected(follower, "input");
      return [this.#branch(kind)];
    }
    const rest = this.#list(false);
    if (rest.end !== "end") this.#tokens.fail("expected end; found {{else}}");
    return rest.nodes;
  }

  #definition(): void {
    const name = this.#templateName("define clause");
    this.#tokens.expect("right", "define clause");
    this.#define(name, this.#separateBody("define clause"));
  }

  #block(pos: number): Node {
    const name = this.#templateName("block clause");
    const pipeline = this.#pipelines.parse("block clause", "right");
    this.#define(name, this.#separateBody("block clause"));
    return { kind: "template", pos, name, pipeline };
  }

  #separateBody(context: string): readonly Node[] {
    return this.#tokens.nested(() =>
      this.#pipelines.separate(() => {
        const outer = this.#rangeDepth;
        this.#rangeDepth = 0;
        const { nodes, end } = this.#list(false);
        if (end !== "end") this.#tokens.fail(`unexpected {{${end}}} in ${context}`);
        this.#rangeDepth = outer;
        return nodes;
      }),
    );
  }

  #define(name: string, body: readonly Node[]): void {
    const present = this.#bodies.get(name);
    if (present === undefined || isEmpty(present)) this.#bodies.set(name, body);
    else if (!isEmpty(body)) this.#tokens.fail(`multiple definition of template ${quoteGo(name)}`);
  }

  #templateCall(pos: number): Node {
    const name = this.#templateName("template clause");
    if (this.#tokens.peekNonSpace().type === "right") {
      this.#tokens.next();
      return { kind: "template", pos, name, pipeline: undefined };
    }
    return { kind: "template", pos, name, pipeline: this.#pipelines.parse("template clause", "right") };
  }

  #templateName(context: string): string {
    return this.#tokens.unquote(this.#tokens.expect("string", context));
  }
}

/** White space alone does not make a body. */
function isEmpty(body: readonly Node[]): boolean {
  return body.every((node) => node.kind === "text" && node.text.trim() === "");
}
