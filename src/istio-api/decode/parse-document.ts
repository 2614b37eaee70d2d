import { type Alias, type Document, LineCounter, parseDocument as parseYaml, visit } from "yaml";
import { errorMessage } from "../../base/coded-error.ts";
import { nestsTooDeeply, TOO_DEEP } from "../../files/yaml/yaml-depth.ts";
import { yamlOffset } from "../../files/yaml/yaml-offset.ts";
import type { Path } from "../../protobuf/json/read-message.ts";

export interface Position {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

export type ParsedDocument =
  | { readonly data: unknown; readonly locate: (path: Path) => Position }
  | { readonly problem: string; readonly position: Position };

/** Aliases beyond this are taken for an attack: they can multiply a small text into any size. */
const MAX_ALIASES = 100;
const START: Position = { line: 1, column: 1 };

/** One YAML 1.2 document (JSON included) as data, with the place of each of its members. Two equal keys are an error. */
export function parseDocument(text: string): ParsedDocument {
  if (nestsTooDeeply(text)) return { problem: `YAML: ${TOO_DEEP}`, position: START };
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  try {
    const document = parseYaml(text, {
      version: "1.2",
      merge: true,
      lineCounter: lines,
      logLevel: "silent",
      prettyErrors: false,
    });
    const [failure] = document.errors;
    if (failure !== undefined) {
      return { problem: `YAML: ${failure.message}`, position: positionAt(failure.pos[0]) };
    }
    const dangling = danglingAlias(document);
    if (dangling !== undefined) {
      return {
        problem: `YAML: alias *${dangling.source} has no anchor before it`,
        position: positionAt(dangling.range?.[0] ?? 0),
      };
    }
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { data, locate: (path) => positionAt(yamlOffset(document, path)) };
  } catch (thrown) {
    return { problem: `YAML: ${reasonOf(thrown)}`, position: START };
  }
}

function danglingAlias(document: Document): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias: (_key, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof RangeError) return TOO_DEEP;
  if (thrown instanceof ReferenceError && errorMessage(thrown).startsWith("Excessive")) {
    return `more than ${MAX_ALIASES} uses of aliases`;
  }
  return errorMessage(thrown);
}
