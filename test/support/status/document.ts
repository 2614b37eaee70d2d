import { spawn } from "node:child_process";
import { expect } from "vitest";

export interface ParsedDocument {
  /** Type by family. */
  readonly families: ReadonlyMap<string, string>;
  /** Value by series, as written. */
  readonly series: ReadonlyMap<string, string>;
}

const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?=[a-zA-Z_])|,?(?=\})))*\})? (\S+)(?: (-?[\d.e+]+))?( # \{.*\} \S+(?: \S+)?)?$/;
const METADATA = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*)(?: (.*))?$/;
const SUFFIX = /_(?:total|created|bucket|sum|count|gsum|gcount|info)$/;
const TYPES = {
  text: ["counter", "gauge", "histogram", "summary", "untyped"],
  openmetrics: ["counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset", "unknown"],
};

/**
 * Stricter than the usual consumers: metadata before samples and once, samples of a family in one group, no series twice, no blank
 * lines in OpenMetrics, its counters with the right ending and one EOF as the very last line. Throws with the offending line.
 */
export function parseStrictly(text: string, format: "text" | "openmetrics"): ParsedDocument {
  const families = new Map<string, string>();
  const closed = new Set<string>();
  const series = new Map<string, string>();
  const metadata = new Set<string>();
  const sampled = new Set<string>();
  let current = "";
  const enter = (family: string, line: string) => {
    if (family === current) return;
    if (closed.has(family)) throw new Error(`family ${family} comes again: ${line}`);
    closed.add(current);
    current = family;
  };
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line has no newline");
  const lines = text.split("\n").slice(0, -1);
  if (format === "openmetrics" && lines.pop() !== "# EOF") throw new Error("no EOF at the end");
  for (const line of lines) {
    if (line === "# EOF") throw new Error("EOF in the middle");
    const [, keyword, name = "", value = ""] = METADATA.exec(line) ?? [];
    if (keyword !== undefined) {
      if (metadata.has(`${keyword} ${name}`)) throw new Error(`second ${keyword} of ${name}`);
      metadata.add(`${keyword} ${name}`);
      enter(name, line);
      if (sampled.has(name)) throw new Error(`metadata behind samples: ${line}`);
      if (keyword === "TYPE") {
        if (!TYPES[format].includes(value)) throw new Error(`unknown type: ${line}`);
        families.set(name, value);
      }
      continue;
    }
    const [, sampleName = "", labels = "", number = ""] = SAMPLE.exec(line) ?? [];
    if (sampleName === "") throw new Error(`no sample: ${JSON.stringify(line)}`);
    if (Number.isNaN(Number(number)) && !/^([+-]?Inf|NaN)$/i.test(number)) throw new Error(`no number: ${line}`);
    const base = sampleName.replace(SUFFIX, "");
    const family =
      families.has(sampleName) && sampleName === current ? sampleName : base === current ? base : sampleName;
    if (format === "openmetrics" && families.get(family) === "counter" && !/_(total|created)$/.test(sampleName))
      throw new Error(`counter without _total: ${line}`);
    enter(family, line);
    if (series.has(sampleName + labels)) throw new Error(`series twice: ${line}`);
    series.set(sampleName + labels, number);
    sampled.add(sampleName);
  }
  return { families, series };
}

/** Debian's promtool reads text documents as Prometheus does; exit code 3 means remarks on naming, which are no errors. */
export async function expectPromtoolAccepts(text: string): Promise<void> {
  const child = spawn("promtool", ["check", "metrics"], { stdio: ["pipe", "ignore", "pipe"] });
  let complaint = "";
  child.stderr.on("data", (chunk) => {
    complaint += String(chunk);
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(text);
  const code = await new Promise((done) => child.once("close", done));
  expect([0, 3], complaint).toContain(code);
}
