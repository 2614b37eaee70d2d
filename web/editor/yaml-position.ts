/** Where the cursor stands in a YAML text, as far as indentation tells. */
export interface YamlPosition {
  /** Keys from the document's root to the mapping that the cursor is in; items of a list are `[]`. */
  readonly path: readonly string[];
  /** Of the document that the cursor is in; empty where it is not written yet. */
  readonly kind: string;
  readonly apiVersion: string;
  /** A key is being written, or the value of `key`. */
  readonly at: "key" | "value";
  readonly key: string;
  readonly prefix: string;
  /** Keys that the same mapping has already. */
  readonly siblings: readonly string[];
}

interface Line {
  readonly indent: number;
  readonly key: string;
  readonly value: string;
  readonly isItem: boolean;
}

/** Reads block style only: flow mappings are short, and what is inside them is not completed. */
export function yamlPosition(text: string, offset: number): YamlPosition {
  const before = text.slice(0, offset).split("\n");
  const all = text.split("\n");
  const row = before.length - 1;
  const [first, end] = documentAround(all, row);
  const current = before[row] ?? "";
  const head = /^(\s*)((?:- +)*)(.*)$/.exec(current) ?? ["", "", "", ""];
  const [, spaces = "", marks = "", written = ""] = head;
  const value = /^([\w./-]+):\s+(.*)$/.exec(written);
  const indent = spaces.length + marks.length;
  const { path, siblings } = enclosing(all, { first, end, row, indent, startsItem: marks !== "" });
  const field = (name: string) =>
    all
      .slice(first, end)
      .map((line) => new RegExp(`^${name}:\\s*["']?([^"'\\s#]+)`).exec(line)?.[1])
      .find((found) => found !== undefined) ?? "";
  return {
    path,
    kind: field("kind"),
    apiVersion: field("apiVersion"),
    at: value === null ? "key" : "value",
    key: value?.[1] ?? "",
    prefix: value?.[2] ?? written,
    siblings,
  };
}

function documentAround(lines: readonly string[], row: number): readonly [number, number] {
  const isMark = (line: string | undefined) => /^---(\s|$)/.test(line ?? "");
  let first = row;
  while (first > 0 && !isMark(lines[first])) first -= 1;
  if (isMark(lines[first])) first += 1;
  let end = row + 1;
  while (end < lines.length && !isMark(lines[end])) end += 1;
  return [Math.min(first, row), end];
}

interface Place {
  readonly first: number;
  readonly end: number;
  readonly row: number;
  readonly indent: number;
  readonly startsItem: boolean;
}

/** Walks up: each line that is indented less opened a mapping or a list that the cursor is in. */
function enclosing(lines: readonly string[], place: Place): { path: readonly string[]; siblings: readonly string[] } {
  const path: string[] = [];
  const siblings: string[] = [];
  let limit = place.indent;
  if (place.startsItem) path.unshift("[]");
  let inMapping = true;
  let listAt = place.startsItem ? place.indent - 2 : Number.POSITIVE_INFINITY;
  for (let row = place.row - 1; row >= place.first; row--) {
    const line = readLine(lines[row] ?? "");
    if (line === undefined) continue;
    const markAt = line.isItem ? line.indent - 2 : line.indent;
    if (line.indent === limit && inMapping && !place.startsItem) siblings.push(line.key);
    if (line.isItem && line.indent <= limit && markAt < limit && markAt < listAt) {
      if (line.indent < limit && line.value === "") path.unshift(line.key);
      if (line.indent < limit && line.value !== "") continue;
      path.unshift("[]");
      limit = markAt;
      listAt = markAt;
      inMapping = false;
      continue;
    }
    const opensList = listAt !== Number.POSITIVE_INFINITY && path[0] === "[]" && line.indent <= listAt;
    if (!line.isItem && line.value === "" && (line.indent < limit || (opensList && line.indent === listAt))) {
      path.unshift(line.key);
      limit = line.indent;
      listAt = Number.POSITIVE_INFINITY;
      inMapping = false;
      if (limit === 0) break;
    }
  }
  for (let row = place.row + 1; row < place.end && !place.startsItem; row++) {
    const line = readLine(lines[row] ?? "");
    if (line === undefined) continue;
    if (line.indent < place.indent || (line.isItem && line.indent <= place.indent)) break;
    if (line.indent === place.indent) siblings.push(line.key);
  }
  return { path, siblings };
}

function readLine(text: string): Line | undefined {
  const found = /^(\s*)((?:- +)*)(?:([\w./-]+):(?:\s+([^#]*?))?\s*(?:#.*)?)?$/.exec(text);
  const item = /^(\s*)(- +)/.exec(text);
  if (found === null) {
    if (item === null) return undefined;
    return { indent: (item[1] ?? "").length + 2, key: "", value: "scalar", isItem: true };
  }
  const [, spaces = "", marks = "", key = "", value = ""] = found;
  if (key === "" && marks === "") return undefined;
  return { indent: spaces.length + marks.length, key, value, isItem: marks !== "" };
}
