import { isAlias, isMap, isScalar, isSeq, type Pair, type YAMLMap } from "yaml";
import { type AliasTargets, composeYaml, type Position, startOf } from "./compose-yaml.ts";
import { type PlainSpots, readPlainYaml } from "./read-plain-yaml.ts";
import { STRICT_YAML } from "./yaml-profiles.ts";

/** A path into the data: keys of maps, indexes of lists. */
export type YamlPath = readonly (string | number)[];

export type LocatedYaml =
  | { readonly data: unknown; readonly locate: (path: YamlPath) => Position }
  | { readonly problem: string; readonly position: Position };

/** One document (JSON included) by the strict profile, with the position of each of its members in the text. */
export function locateYaml(text: string): LocatedYaml {
  const plain = readPlainYaml(text);
  if (plain === undefined) return locateComposed(text);
  // Positions are asked for where something is wrong: most documents never are.
  let inLines: ReturnType<typeof locatePlain> | undefined;
  let located: LocatedYaml | undefined;
  return {
    data: plain.data,
    locate: (path) => {
      inLines ??= locatePlain(text);
      const found = inLines(path);
      if (found !== undefined) return found;
      located ??= locateComposed(text);
      return "problem" in located ? located.position : located.locate(path);
    },
  };
}

/** Of what stands on lines of its own; undefined for members of `{}` and `[]`, which the library has to find. */
function locatePlain(text: string): (path: YamlPath) => Position | undefined {
  const spots: PlainSpots = new Map();
  const root = readPlainYaml(text, spots)?.data;
  const [start] = (typeof root === "object" && root !== null && spots.get(root)?.values()) || [];
  return (path) => {
    let value: unknown = root;
    let position = start;
    for (const part of path) {
      if (typeof value !== "object" || value === null) break;
      const members = spots.get(value);
      if (members === undefined) return undefined;
      const isList = Array.isArray(value);
      const next = members.get(isList ? part : String(part));
      if (next === undefined) break;
      position = next;
      value = (value as Readonly<Record<string | number, unknown>>)[part];
    }
    return position;
  };
}

function locateComposed(text: string): LocatedYaml {
  const composed = composeYaml(text, STRICT_YAML);
  if ("problem" in composed) return { problem: composed.problem.message, position: composed.problem.position };
  const { data, document, targets, positionAt } = composed;
  const offsets = new Offsets(document?.contents, targets);
  return { data, locate: (path) => positionAt(offsets.of(path)) };
}

class Offsets {
  readonly #root: unknown;
  readonly #targets: AliasTargets;
  /** Members by name of the maps that were asked for: there may be as many problems as members. */
  readonly #members = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();
  constructor(root: unknown, targets: AliasTargets) {
    this.#root = root;
    this.#targets = targets;
  }

  /**
   * Where a member stands in the text: its key, or an item. Of one that the text does not have (it comes from a merged key, or is
   * missing) the nearest parent that it does.
   */
  of(path: YamlPath): number {
    let node = this.#root;
    let offset = startOf(node) ?? 0;
    for (const part of path) {
      if (isAlias(node)) node = this.#targets.get(node);
      if (isMap(node)) {
        const pair = this.#pair(node, String(part));
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

  #pair(map: YAMLMap, name: string): Pair | undefined {
    let members = this.#members.get(map);
    if (members === undefined) {
      members = new Map(map.items.map((pair) => [String(isScalar(pair.key) ? pair.key.value : pair.key), pair]));
      this.#members.set(map, members);
    }
    return members.get(name);
  }
}
