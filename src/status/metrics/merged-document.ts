import type { Family, FamilySink } from "../../protocol/prometheus/family-reader.ts";
import { sampleSuffixes } from "../../protocol/prometheus/family-type.ts";
import type { PrometheusFormat } from "../../protocol/prometheus/sample-line.ts";
import { FamilySet } from "../core/family-set.ts";
import type { BlockWriter } from "./block-writer.ts";
import { type Drop, type IndexedFamily, seriesKey, seriesOf } from "./family-index.ts";

export interface MergedDocumentOptions {
  readonly format: PrometheusFormat;
  readonly out: BlockWriter;
  /** Families of the bodies that are wholly in memory, all sources merged. */
  readonly known: ReadonlyMap<string, IndexedFamily>;
}

/** Writes each family once, whichever sources have it. */
export interface MergedDocument {
  writeKnown(names: Iterable<string>, drop: Drop): void;
  /** For a body too large to look at as a whole: its families that were written before are left out. */
  sink(drop: Drop): FamilySink;
  finish(): void;
}

export function createMergedDocument({ format, out, known }: MergedDocumentOptions): MergedDocument {
  const seen = new FamilySet();
  const written = new Set<string>();

  /** A family's samples must not meet another family's name, and the reverse. */
  const claim = (family: Family): boolean => {
    const { name } = family;
    const suffixes = sampleSuffixes(family.type, format);
    if (seen.has(name)) return false;
    for (const suffix of suffixes) if (seen.has(name + suffix)) return false;
    for (const suffix of suffixes) if (!seen.add(name + suffix)) return false;
    return seen.add(name);
  };
  const writeFamily = (family: IndexedFamily): void => {
    out.text(headerText(family, format));
    for (const { bytes, start, end } of family.blocks) out.write(bytes, start, end);
  };

  return {
    writeKnown(names, drop) {
      for (const name of names) {
        const family = known.get(name);
        if (family === undefined || written.has(name)) continue;
        written.add(name);
        if (claim(family)) writeFamily(family);
        else drop("family", 1);
      }
    },
    sink(drop) {
      let mode: "pass" | "drop" | "check" = "drop";
      let others: ReadonlySet<string> = new Set();
      return {
        begin(family) {
          const other = written.has(family.name) ? undefined : known.get(family.name);
          if (!claim(family)) {
            mode = "drop";
            drop("family", 1);
            return;
          }
          mode = "pass";
          if (other === undefined) return out.text(headerText(family, format));
          written.add(family.name);
          if (other.type !== family.type) {
            // Nothing here shows which of the two is right; the first one in the document stays.
            drop("family", 1);
            return out.text(headerText(family, format));
          }
          mode = "check";
          others = seriesOf(other);
          writeFamily({ ...other, help: family.help ?? other.help });
        },
        samples(bytes, start, end) {
          if (mode === "pass") return out.write(bytes, start, end);
          if (mode === "check") copyOthers(bytes, { start, end, others, out }, drop);
        },
      };
    },
    finish() {
      if (format === "openmetrics") out.text("# EOF\n");
      out.flush();
    },
  };
}

interface Copy {
  readonly start: number;
  readonly end: number;
  readonly others: ReadonlySet<string>;
  readonly out: BlockWriter;
}

/** Lines whose series is not among the others. */
function copyOthers(bytes: Buffer, copy: Copy, drop: Drop): void {
  for (let at = copy.start; at < copy.end; ) {
    const next = bytes.indexOf(0x0a, at) + 1;
    if (copy.others.has(seriesKey(bytes, at, next))) drop("series", 1);
    else copy.out.write(bytes, at, next);
    at = next;
  }
}

function headerText({ name, type, help, unit }: Family, format: PrometheusFormat): string {
  const helpLine =
    help === undefined
      ? ""
      : `# HELP ${name} ${format === "text" && help.includes("\\") ? help.replaceAll('\\"', '"') : help}\n`;
  // A unit has to be the name's ending.
  const hasUnit = unit && format === "openmetrics" && name.endsWith(`_${unit}`);
  return `${helpLine}# TYPE ${name} ${type}\n${hasUnit ? `# UNIT ${name} ${unit}\n` : ""}`;
}
