import { quoteGo } from "../base/go-quote.ts";
import type { Branch, Command, Expression, Node, Pipeline } from "./ast.ts";
import { printExpression } from "./ast.ts";
import { rangeElements, resolveFields } from "./fields.ts";
import { printedSize, printValue } from "./format-value.ts";
import type { TemplateFunction } from "./function-table.ts";
import { Meter, type TemplateLimits } from "./limits.ts";
import type { TemplateBodies } from "./parser.ts";
import {
  positionAt,
  TemplateArgumentError,
  TemplateError,
  TemplateFunctionError,
  TemplateLimitError,
} from "./template-error.ts";
import { isTrue, kindOf } from "./values.ts";

export interface Program {
  readonly name: string;
  readonly source: string;
  readonly bodies: TemplateBodies;
  readonly functions: ReadonlyMap<string, TemplateFunction>;
}

type Flow = "break" | "continue" | undefined;

/** Stands for "no piped-in argument", which differs from a piped-in nil. */
const NONE = Symbol("none");

/** How much of the template an error message quotes. */
const MAX_CONTEXT = 200;

/** Runs a parsed template over data. */
export function evaluate(program: Program, data: unknown, limits: TemplateLimits): string {
  const evaluator = new Evaluator(program, limits);
  return evaluator.run(data);
}

class Evaluator {
  readonly #program: Program;
  readonly #meter: Meter;
  readonly #output: string[] = [];
  #variables: { readonly name: string; value: unknown }[] = [];
  /** The template being executed and the node an error would be about. */
  #template: string;
  #at: { readonly pos: number; readonly text: () => string } = { pos: 0, text: () => "" };

  constructor(program: Program, limits: TemplateLimits) {
    this.#program = program;
    this.#meter = new Meter(limits);
    this.#template = program.name;
  }

  run(data: unknown): string {
    const body = this.#program.bodies.get(this.#program.name) ?? [];
    this.#variables = [{ name: "$", value: data }];
    try {
      this.#walk(data, body);
    } catch (failure) {
      throw this.#located(failure);
    }
    return this.#output.join("");
  }

  #located(failure: unknown): unknown {
    if (!(failure instanceof TemplateFunctionError) && !(failure instanceof TemplateLimitError)) return failure;
    const { name, source } = this.#program;
    const position = positionAt(name, source, this.#at.pos);
    const shown = this.#at.text();
    const context = shown.length > MAX_CONTEXT ? `${shown.slice(0, MAX_CONTEXT)}...` : shown;
    const location = `template: ${name}:${position.line}:${position.column}: executing ${quoteGo(this.#template)} at <${context}>`;
    const code = failure instanceof TemplateLimitError ? failure.code : "execution";
    return new TemplateError(code, `${location}: ${failure.message}`, position);
  }

  #atExpression(node: Expression | Command | Pipeline): void {
    this.#at = { pos: node.pos, text: () => printExpression(node) };
  }

  #fail(message: string): never {
    throw new TemplateFunctionError(message);
  }

  // Nodes

  #walk(dot: unknown, nodes: readonly Node[]): Flow {
    this.#meter.enter();
    for (const node of nodes) {
      this.#meter.spend();
      const flow = this.#node(dot, node);
      if (flow !== undefined) {
        this.#meter.leave();
        return flow;
      }
    }
    this.#meter.leave();
    return undefined;
  }

  #node(dot: unknown, node: Node): Flow {
    switch (node.kind) {
      case "text":
        this.#write(node.text);
        return undefined;
      case "action": {
        const value = this.#pipeline(dot, node.pipeline);
        if (node.pipeline.variables.length === 0) this.#print(value);
        return undefined;
      }
      case "template":
        this.#callTemplate(dot, node);
        return undefined;
      case "break":
      case "continue":
        return node.kind;
      case "if":
      case "with": {
        const scope = this.#variables.length;
        const value = this.#pipeline(dot, node.pipeline);
        const inner = node.kind === "with" ? value : dot;
        const flow = isTrue(value) ? this.#walk(inner, node.body) : this.#walk(dot, node.otherwise);
        this.#variables.length = scope;
        return flow;
      }
      case "range":
        return this.#range(dot, node);
    }
  }

  #write(text: string): void {
    this.#meter.write(Buffer.byteLength(text));
    this.#output.push(text);
  }

  #print(value: unknown): void {
    if (typeof value === "string") {
      this.#write(value);
      return;
    }
    this.#meter.spendText(printedSize(value, 1 << 26));
    this.#write(printValue(value));
  }

  #callTemplate(dot: unknown, node: Extract<Node, { kind: "template" }>): void {
    const argument = node.pipeline === undefined ? "" : ` ${printExpression(node.pipeline)}`;
    // Go points at the name, one word behind the keyword.
    const at = { pos: node.pos + "template ".length, text: () => `{{template ${quoteGo(node.name)}${argument}}}` };
    this.#at = at;
    const body = this.#program.bodies.get(node.name);
    if (body === undefined) this.#fail(`template ${quoteGo(node.name)} not defined`);
    const value = node.pipeline === undefined ? undefined : this.#pipeline(dot, node.pipeline);
    this.#at = at;
    const outer = { template: this.#template, variables: this.#variables };
    this.#template = node.name;
    this.#variables = [{ name: "$", value }];
    this.#walk(value, body);
    this.#template = outer.template;
    this.#variables = outer.variables;
  }

  #range(dot: unknown, node: Branch): Flow {
    const scope = this.#variables.length;
    const value = this.#pipeline(dot, { ...node.pipeline, variables: [] });
    if (node.pipeline.variables.length > 1 && kindOf(value) === "int") {
      this.#fail(`can't use ${printValue(value)} to iterate over more than one variable`);
    }
    let turns = 0;
    for (const [key, item] of rangeElements(value, this.#meter)) {
      turns += 1;
      this.#meter.spend();
      this.#bindRange(node.pipeline, key, item);
      const inner = this.#variables.length;
      const flow = this.#walk(item, node.body);
      this.#variables.length = node.pipeline.assigns ? inner : scope;
      if (flow === "break") break;
    }
    const flow = turns === 0 ? this.#walk(dot, node.otherwise) : undefined;
    this.#variables.length = scope;
    return flow;
  }

  #bindRange(pipeline: Pipeline, key: unknown, item: unknown): void {
    const [first, second] = pipeline.variables;
    if (first === undefined) return;
    this.#bind(first, second === undefined ? item : key, pipeline.assigns);
    if (second !== undefined) this.#bind(second, item, pipeline.assigns);
  }

  // Pipelines

  #pipeline(dot: unknown, pipeline: Pipeline): unknown {
    this.#meter.enter();
    this.#atExpression(pipeline);
    let value: unknown = NONE;
    // A nil that leaves a pipeline is not a value at all: its fields are absent instead of a mistake.
    for (const command of pipeline.commands) value = this.#command(dot, command, value) ?? undefined;
    for (const name of pipeline.variables) this.#bind(name, value, pipeline.assigns);
    this.#meter.leave();
    return value;
  }

  #bind(name: string, value: unknown, assigns: boolean): void {
    if (assigns) {
      const variable = this.#variables.findLast((candidate) => candidate.name === name);
      if (variable === undefined) this.#fail(`undefined variable: ${name}`);
      variable.value = value;
    } else {
      this.#variables.push({ name, value });
    }
  }

  #command(dot: unknown, command: Command, piped: unknown): unknown {
    this.#meter.spend();
    const [first, ...rest] = command.args;
    if (first.kind === "function") return this.#call(dot, first, command, rest, piped);
    if (rest.length > 0 || piped !== NONE) this.#refuseArguments(first);
    if (first.kind === "nil") {
      this.#atExpression(first);
      this.#fail("nil is not a command");
    }
    return this.#expression(dot, first);
  }

  #refuseArguments(first: Expression): never {
    this.#atExpression(first);
    const name = "names" in first ? first.names.at(-1) : undefined;
    if (name !== undefined) this.#fail(`${name} is not a method but has arguments`);
    this.#fail(`can't give argument to non-function ${printExpression(first)}`);
  }

  #expression(dot: unknown, node: Expression): unknown {
    this.#atExpression(node);
    switch (node.kind) {
      case "dot":
        return dot;
      case "nil":
        return null;
      case "bool":
      case "number":
      case "string":
        return node.value;
      case "field":
        return resolveFields(dot, node.names, false, this.#meter);
      case "variable": {
        const variable = this.#variables.findLast((candidate) => candidate.name === node.name);
        if (variable === undefined) this.#fail(`undefined variable: ${node.name}`);
        return resolveFields(variable.value, node.names, true, this.#meter);
      }
      case "chain":
        return resolveFields(this.#expression(dot, node.operand), node.names, true, this.#meter);
      case "function":
        return this.#call(dot, node, node, [], NONE);
      case "pipeline":
        return this.#pipeline(dot, node.pipeline);
    }
  }

  // Calls

  #call(
    dot: unknown,
    node: Extract<Expression, { kind: "function" }>,
    shown: Command | Expression,
    args: readonly Expression[],
    piped: unknown,
  ): unknown {
    this.#meter.spend();
    this.#atExpression(node);
    const callee = this.#program.functions.get(node.name);
    if (callee === undefined) this.#fail(`${quoteGo(node.name)} is not a defined function`);
    const count = args.length + (piped === NONE ? 0 : 1);
    if (count < callee.minArgs || count > callee.maxArgs) this.#fail(arityProblem(node.name, callee, count));
    if (node.name === "and" || node.name === "or") return this.#shortCircuit(dot, node.name, args, piped);
    const values = args.map((arg) => this.#expression(dot, arg));
    if (piped !== NONE) values.push(piped);
    try {
      const result = callee.call(values, this.#meter);
      if (typeof result === "string") this.#meter.spendText(result.length);
      return result;
    } catch (failure) {
      this.#atExpression(shown);
      // A wrong argument is the caller's fault, found before the function runs.
      if (failure instanceof TemplateArgumentError) throw failure;
      if (failure instanceof TemplateFunctionError) this.#fail(`error calling ${node.name}: ${failure.message}`);
      throw failure;
    }
  }

  #shortCircuit(dot: unknown, name: "and" | "or", args: readonly Expression[], piped: unknown): unknown {
    let value: unknown = piped;
    for (const arg of args) {
      value = this.#expression(dot, arg);
      if (isTrue(value) === (name === "or")) return value;
    }
    return piped === NONE ? value : piped;
  }
}

function arityProblem(name: string, { minArgs, maxArgs }: TemplateFunction, count: number): string {
  const wanted = minArgs === maxArgs ? String(minArgs) : `at least ${minArgs}`;
  return `wrong number of args for ${name}: want ${wanted} got ${count}`;
}
