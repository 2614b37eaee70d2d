import { type Alias, type Document, LineCounter, parseDocument, visit } from "yaml";
import { errorMessage } from "../../base/coded-error.ts";
import { nestsTooDeeply, TOO_DEEP } from "./yaml-depth.ts";
import { yamlOffset } from "./yaml-offset.ts";
import { STRICT_YAML } from "./yaml-profiles.ts";

export interface Position {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

/** A path into the data: keys of maps, indexes of lists. */
export type YamlPath = readonly (string | number)[];

export type LocatedYaml =
  | { readonly data: unknown; readonly locate: (path: YamlPath) => Position }
  | { readonly problem: string; readonly position: Position };

/** Aliases beyond this are taken for an attack: they can multiply a small text into any size. */
const MAX_ALIASES = 100;
const START: Position = { line: 1, column: 1 };

/** One document (JSON included) by the strict profile, with the position of each of its members in the text. */
export function locateYaml(text: string): LocatedYaml {
  if (nestsTooDeeply(text)) return { problem: TOO_DEEP, position: START };
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  try {
    const document = parseDocument(text, { ...STRICT_YAML, lineCounter: lines, prettyErrors: false });
    const [failure] = document.errors;
    if (failure !== undefined) {
      return { problem: failure.message, position: positionAt(failure.pos[0]) };
    }
    const dangling = danglingAlias(document);
    if (dangling !== undefined) {
      return {
        problem: `alias *${dangling.source} has no anchor before it`,
        position: positionAt(dangling.range?.[0] ?? 0),
      };
    }
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { data, locate: (path) => positionAt(yamlOffset(document, path)) };
  } catch (thrown) {
    return { problem: reasonOf(thrown), position: START };
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
