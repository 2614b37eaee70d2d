import type { PrometheusFormat } from "./sample-line.ts";

/** What a family is called and which samples belong to it in one format. */
export interface FamilyHeader {
  readonly name: string;
  readonly type: string;
}

const SUFFIXES: Readonly<Record<PrometheusFormat, Readonly<Record<string, readonly string[]>>>> = {
  text: { histogram: ["_bucket", "_sum", "_count"], summary: ["_sum", "_count"] },
  openmetrics: {
    counter: ["_total", "_created"],
    histogram: ["_bucket", "_sum", "_count", "_created"],
    gaugehistogram: ["_bucket", "_gsum", "_gcount"],
    summary: ["_sum", "_count", "_created"],
    info: ["_info"],
  },
};
const NO_SUFFIXES: readonly string[] = [];

const TYPES: Readonly<Record<PrometheusFormat, ReadonlySet<string>>> = {
  text: new Set(["counter", "gauge", "histogram", "summary", "untyped"]),
  openmetrics: new Set(["counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset", "unknown"]),
};

/** Endings that samples of a family may have besides the bare name. */
export function sampleSuffixes(type: string, format: PrometheusFormat): readonly string[] {
  return SUFFIXES[format][type] ?? NO_SUFFIXES;
}

/** In OpenMetrics every sample of these has an ending; one without is another family's. */
const ENDING_ONLY = new Set(["counter", "histogram", "gaugehistogram", "info"]);

/** Whether a sample may have the family's own name. */
export function hasBareSamples(type: string, format: PrometheusFormat): boolean {
  return format === "text" || !ENDING_ONLY.has(type);
}

export function isFamilyType(type: string, format: PrometheusFormat): boolean {
  return TYPES[format].has(type);
}

/** What a family without a TYPE line is. */
export function defaultType(format: PrometheusFormat): string {
  return format === "text" ? "untyped" : "unknown";
}

/**
 * The header that leaves every sample's name as it is. OpenMetrics wants counters to end in `_total`; one that does not keeps its name
 * and becomes `unknown`, because a metric must not change its name with what another process of the pod happens to speak.
 */
export function convertHeader(header: FamilyHeader, from: PrometheusFormat, to: PrometheusFormat): FamilyHeader {
  if (from === to) return header;
  const { name, type } = header;
  if (to === "openmetrics") {
    if (type === "counter")
      return name.endsWith("_total") ? { name: name.slice(0, -"_total".length), type } : { name, type: "unknown" };
    return { name, type: type === "untyped" ? "unknown" : type };
  }
  if (type === "counter") return { name: `${name}_total`, type };
  if (type === "info") return { name: `${name}_info`, type: "gauge" };
  if (type === "stateset") return { name, type: "gauge" };
  if (type === "histogram" || type === "summary" || type === "gauge") return { name, type };
  return { name, type: "untyped" };
}
