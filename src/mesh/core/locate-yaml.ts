import { LineCounter, parseDocument } from "yaml";
import { errorMessage } from "../../base/coded-error.ts";
import { nestsTooDeeply, TOO_DEEP } from "../../files/yaml/yaml-depth.ts";
import { yamlOffset } from "../../files/yaml/yaml-offset.ts";
import type { Path } from "./check-schema.ts";
import type { Position } from "./mesh-file.ts";

/** A YAML 1.2 text as data that knows where each member stands. */
export type LocatedYaml =
  | { readonly data: unknown; locate(path: Path): Position }
  | { readonly problem: string; readonly position: Position };

/** More uses of aliases than this are taken for an attempt to blow a small text up. */
const MAX_ALIASES = 100;

export function locateYaml(text: string): LocatedYaml {
  if (nestsTooDeeply(text)) return { problem: TOO_DEEP, position: { line: 1, column: 1 } };
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
    return { data, locate: (path) => positionAt(yamlOffset(document, path)) };
  } catch (thrown) {
    return { problem: errorMessage(thrown), position: { line: 1, column: 1 } };
  }
}
