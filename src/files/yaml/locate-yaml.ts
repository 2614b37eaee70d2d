import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from "yaml";
import { errorMessage } from "../../base/coded-error.ts";
import { nestsTooDeeply, TOO_DEEP } from "./yaml-depth.ts";
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

/**
 * Where a member stands in the text: its key, or an item. Of one that the text does not have (it comes from a merged key, or is
 * missing) the nearest parent that it does.
 */
function yamlOffset(document: Document, path: YamlPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(part));
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === "number") {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
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
