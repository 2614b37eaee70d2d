import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { errorMessage } from "../../base/coded-error.ts";
import type { Path } from "./check-schema.ts";
import type { Position } from "./mesh-file.ts";

/** A YAML 1.2 text as data that knows where each member stands. */
export type LocatedYaml =
  | { readonly data: unknown; locate(path: Path): Position }
  | { readonly problem: string; readonly position: Position };

/** More uses of aliases than this are taken for an attempt to blow a small text up. */
const MAX_ALIASES = 100;

export function locateYaml(text: string): LocatedYaml {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  try {
    const document = parseDocument(text, { lineCounter: lines, logLevel: "silent", prettyErrors: false, merge: true });
    const [failure] = document.errors;
    if (failure !== undefined) return { problem: failure.message, position: positionAt(failure.pos[0]) };
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { data, locate: (path) => positionAt(offsetOf(document, path)) };
  } catch (thrown) {
    return { problem: errorMessage(thrown), position: { line: 1, column: 1 } };
  }
}

/** Of the key of a member, or of an item; of the nearest parent that stands in the text where there is none. */
function offsetOf(document: Document, path: Path): number {
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
