import {
  type Family,
  FamilyReader,
  type FamilyReaderOptions,
  type FamilySink,
} from "../../protocol/prometheus/family-reader.ts";
import { type OnOverflow, withMeshNames } from "./mesh-names.ts";

interface Block {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A family whose samples are all in memory. */
export interface IndexedFamily extends Family {
  readonly blocks: Block[];
}

export type FamilyIndex = Map<string, IndexedFamily>;

/** A whole body by family, repetitions joined. Throws a PrometheusBodyError when it is not metrics text. */
export function indexBody(
  body: readonly Buffer[],
  options: FamilyReaderOptions,
  drop: Drop,
  onOverflow?: OnOverflow,
): FamilyIndex {
  const index: FamilyIndex = new Map();
  let current: IndexedFamily | undefined;
  const sink: FamilySink = {
    begin(family) {
      const known = index.get(family.name);
      current = known === undefined ? { ...family, blocks: [] } : known.type === family.type ? known : undefined;
      if (current === undefined) drop("family", 1);
      else index.set(family.name, current);
    },
    samples(bytes, start, end) {
      current?.blocks.push({ bytes, start, end });
    },
  };
  const renamed = options.isTrusted ? withMeshNames(sink, onOverflow) : undefined;
  const reader = new FamilyReader(renamed ?? sink, options);
  for (const chunk of body) reader.push(chunk);
  reader.end(true);
  renamed?.end();
  if (reader.brokenLines > 0) drop("line", reader.brokenLines);
  if (!options.isTrusted) for (const family of index.values()) dropRepeated(family, drop);
  return index;
}

/**
 * Adds a later source to what is known. Series that both have are taken from the later one: the application knows better than the
 * proxies around it. Families of another type are left out. Returns the names that the source has.
 */
export function addToIndex(known: FamilyIndex, source: FamilyIndex, drop: Drop): string[] {
  for (const [name, family] of source) {
    const other = known.get(name);
    if (other === undefined) known.set(name, family);
    else if (other.type !== family.type) drop("family", 1);
    else known.set(name, joinFamilies(other, family, drop));
  }
  return [...source.keys()];
}

export function seriesOf(family: IndexedFamily): Set<string> {
  const keys = new Set<string>();
  for (const line of linesOf(family)) keys.add(seriesKey(line.bytes, line.start, line.end));
  return keys;
}

function joinFamilies(first: IndexedFamily, second: IndexedFamily, drop: Drop): IndexedFamily {
  const taken = seriesOf(second);
  const lines = [...linesOf(first)];
  const left = lines.filter(({ bytes, start, end }) => !taken.has(seriesKey(bytes, start, end)));
  if (left.length < lines.length) drop("series", lines.length - left.length);
  return { ...first, help: first.help ?? second.help, blocks: [...left, ...second.blocks] };
}

/** Within one body the first of two equal series stays. */
function dropRepeated(family: IndexedFamily, drop: Drop): void {
  const taken = new Set<string>();
  const repeated: Block[] = [];
  const lines = [...linesOf(family)];
  for (const line of lines) {
    const key = seriesKey(line.bytes, line.start, line.end);
    if (taken.has(key)) repeated.push(line);
    taken.add(key);
  }
  if (repeated.length === 0) return;
  drop("series", repeated.length);
  const gone = new Set(repeated);
  family.blocks.splice(0, family.blocks.length, ...lines.filter((line) => !gone.has(line)));
}

function* linesOf(family: IndexedFamily): Generator<Block> {
  for (const { bytes, start, end } of family.blocks) {
    for (let at = start; at < end; ) {
      const next = bytes.indexOf(0x0a, at) + 1;
      yield { bytes, start: at, end: next };
      at = next;
    }
  }
}

/** What was left out of a merged document, and how much: whole families, single series, or lines that are not metrics. */
export type Drop = (what: "family" | "series" | "line", count: number) => void;

/** The line up to the blank before its value; blanks may also stand in label values, behind a quote. */
export function seriesKey(bytes: Buffer, start: number, end: number): string {
  const line = bytes.toString("latin1", start, end);
  const labelsEnd = /^[^{ \t]*\{(?:[^"}]*"(?:[^"\\]|\\.)*")*[^"}]*\}/.exec(line)?.[0];
  return labelsEnd ?? /^[^ \t]*/.exec(line)?.[0] ?? line;
}
