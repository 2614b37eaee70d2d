import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type YAMLMap,
} from "yaml";
import { nestsTooDeeply, TOO_DEEP } from "./yaml-depth.ts";
import type { GO_YAML, STRICT_YAML } from "./yaml-profiles.ts";

export interface Position {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

export type ComposedYaml =
  /** The document is absent for blank text. */
  | {
      readonly data: unknown;
      readonly document: Document | undefined;
      readonly targets: AliasTargets;
      readonly positionAt: (offset: number) => Position;
    }
  | { readonly problem: YamlProblem };

/** The node that each alias repeats. */
export type AliasTargets = ReadonlyMap<Alias, unknown>;

export interface YamlProblem {
  /** The library's code for a syntax error, or one of ours. */
  readonly code: string;
  readonly message: string;
  readonly position: Position;
}

/** Tokens of one document: about 400,000 lines of rules. The library needs some 500 bytes for each. */
export const MAX_TOKENS = 2_000_000;
/** Values that aliases and merge keys may repeat, for each value that is written out, and beside that. */
const REPEATS_PER_VALUE = 1;
const FREE_REPEATS = 10_000;

/**
 * The one reader of YAML documents, in time and memory linear in the length of the text: the data is JSON data. What would cost more is
 * a problem: documents with too many tokens or levels, aliases that multiply, lists and maps as keys. By the strict profile two equal
 * keys and a second document are problems; by the other the last key and the first document count.
 */
export function composeYaml(text: string, profile: typeof GO_YAML | typeof STRICT_YAML): ComposedYaml {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (nestsTooDeeply(text))
    return { problem: { code: "TOO_DEEP", message: TOO_DEEP, position: { line: 1, column: 1 } } };
  try {
    // Equal keys are found by the conversion: the library compares each key with all before it.
    const composer = new Composer({ ...profile, uniqueKeys: false, resolveKnownTags: false, prettyErrors: false });
    const documents = composer.compose(boundedTokens(text, lines), false, text.length);
    const { value: document } = documents.next() as IteratorResult<Document, undefined>;
    if (document === undefined) return { data: null, document, targets: new Map(), positionAt };
    const [failure] = document.errors;
    if (failure !== undefined) throw new ProblemAt(failure.pos[0], failure.message, failure.code);
    const isStrict = !("uniqueKeys" in profile);
    if (isStrict && documents.next().done !== true) {
      throw new ProblemAt(
        document.range?.[2] ?? 0,
        "the text holds more than one document, one is allowed",
        "MULTIPLE_DOCS",
      );
    }
    const conversion = new Conversion(isStrict);
    return { data: conversion.convert(document.contents), document, targets: conversion.targets, positionAt };
  } catch (thrown) {
    if (thrown instanceof ProblemAt) {
      return { problem: { code: thrown.code, message: thrown.message, position: positionAt(thrown.offset) } };
    }
    // The stack is exhausted.
    if (!(thrown instanceof RangeError)) throw thrown;
    return { problem: { code: "TOO_DEEP", message: TOO_DEEP, position: { line: 1, column: 1 } } };
  }
}

class ProblemAt extends Error {
  readonly offset: number;
  readonly code: string;
  constructor(offset: number, message: string, code: string) {
    super(message);
    this.offset = offset;
    this.code = code;
  }
}

/** What `Parser.parse` gives, ended before the tokens of a hostile text fill the memory. */
function* boundedTokens(text: string, lines: LineCounter): ReturnType<Parser["parse"]> {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > MAX_TOKENS) {
      throw new ProblemAt(
        parser.offset,
        `the document has more than ${MAX_TOKENS} tokens: split it`,
        "TOO_MANY_TOKENS",
      );
    }
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

interface Converted {
  readonly node: unknown;
  readonly value: unknown;
  /** Values in it, those of aliases included. */
  readonly size: number;
}

/** Nodes to data. The library's own conversion looks for each alias in the whole document, and prints each map that is a key. */
class Conversion {
  readonly targets = new Map<Alias, unknown>();
  readonly #isStrict: boolean;
  /** The last node of each name so far; undefined while it is being converted. */
  readonly #anchors = new Map<string, Converted | undefined>();
  #written = 0;
  #repeated = 0;
  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  convert(node: unknown): unknown {
    return this.#convert(node).value;
  }

  #convert(node: unknown): Converted {
    if (isAlias(node)) return this.#alias(node, startOf(node) ?? 0);
    this.#written += 1;
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const converted = this.#content(node);
    if (anchor !== undefined) this.#anchors.set(anchor, converted);
    return converted;
  }

  #content(node: unknown): Converted {
    if (isMap(node)) return this.#pairs(node, node.items);
    if (!isSeq(node)) return { node, value: isScalar(node) ? scalarValue(node.value) : null, size: 1 };
    const value: unknown[] = [];
    let size = 1;
    for (const item of node.items) {
      // `[a: 1]` is a list of one map.
      const converted = isPair(item) ? this.#pairs(node, [item]) : this.#convert(item);
      value.push(converted.value);
      size += converted.size;
    }
    return { node, value, size };
  }

  #pairs(node: Node, pairs: YAMLMap["items"]): Converted {
    const members = new Map<string, unknown>();
    const own = new Set<string>();
    let size = 1;
    for (const { key: keyNode, value: valueNode } of pairs) {
      const offset = startOf(keyNode) ?? startOf(valueNode) ?? startOf(node) ?? 0;
      if (isMergeKey(keyNode)) {
        size += this.#merge(valueNode, members, offset);
        continue;
      }
      const key = this.#convert(keyNode).value;
      if (typeof key === "object" && key !== null) {
        throw new ProblemAt(offset, "a list or a map is not allowed as a key, only text", "KEY_TYPE");
      }
      const name = key === null ? "" : String(key);
      if (this.#isStrict && own.has(name)) {
        throw new ProblemAt(offset, `Map keys must be unique: ${JSON.stringify(name)} is there twice`, "DUPLICATE_KEY");
      }
      own.add(name);
      const { value, size: inside } = this.#convert(valueNode);
      members.set(name, value);
      size += inside;
    }
    // Entries, because an assignment to `__proto__` would not make a member.
    return { node, value: Object.fromEntries(members), size };
  }

  /** Members of a map, or of each map of a list, that the map does not have yet. */
  #merge(node: unknown, members: Map<string, unknown>, offset: number): number {
    const { value, size } = this.#convert(node);
    for (const source of Array.isArray(value) ? value : [value]) {
      if (typeof source !== "object" || source === null || Array.isArray(source)) {
        throw new ProblemAt(offset, "a merge key (<<) takes a map or a list of maps", "MERGE_SOURCE");
      }
      for (const [name, member] of Object.entries(source)) if (!members.has(name)) members.set(name, member);
    }
    return size;
  }

  #alias(alias: Alias, offset: number): Converted {
    const name = alias.source;
    if (!this.#anchors.has(name)) {
      throw new ProblemAt(offset, `alias *${name} has no anchor before it`, "NO_ANCHOR");
    }
    const target = this.#anchors.get(name);
    if (target === undefined) throw new ProblemAt(offset, `alias *${name} is inside of what it repeats`, "ALIAS_CYCLE");
    this.targets.set(alias, target.node);
    this.#repeated += target.size;
    const allowed = FREE_REPEATS + REPEATS_PER_VALUE * this.#written;
    if (this.#repeated > allowed) {
      const counts = `${this.#repeated} values, at most ${allowed} are allowed here`;
      throw new ProblemAt(offset, `aliases repeat too much: ${counts}`, "ALIAS_REPEATS");
    }
    return target;
  }
}

/** Start of a node in the text. */
export function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && typeof key.value === "symbol";
}

/** A merge key outside of a map is text. */
function scalarValue(value: unknown): unknown {
  return typeof value === "symbol" ? value.description : (value ?? null);
}
