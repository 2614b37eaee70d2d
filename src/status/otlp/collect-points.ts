import type { Family, FamilySink } from "../../protocol/prometheus/family-reader.ts";
import { type Attributes, encodeMetric, type Point, type PointTimes } from "./metric-writer.ts";

/** A family with more points becomes several metrics of one name, so that no request grows with the number of series. */
const MAX_POINTS = 500;

/** Takes families of a document in Prometheus' text form and hands out OTLP metrics, encoded, as soon as they are complete. */
export class PointCollector implements FamilySink {
  readonly #times: PointTimes;
  readonly #onMetric: (metric: Buffer) => void;
  #family: Family | undefined;
  #points: Point[] = [];
  #open: OpenSeries | undefined;

  constructor(times: PointTimes, onMetric: (metric: Buffer) => void) {
    this.#times = times;
    this.#onMetric = onMetric;
  }

  begin(family: Family): void {
    this.end();
    this.#family = family;
  }

  samples(bytes: Buffer, start: number, end: number): void {
    for (const line of bytes.toString("utf8", start, end).split("\n")) this.#sample(line);
  }

  /** No more lines follow. */
  end(): void {
    this.#close();
    this.#flush();
  }

  #sample(line: string): void {
    const [, name = "", labels = "", text = ""] = SAMPLE.exec(line) ?? [];
    const family = this.#family;
    if (name === "" || family === undefined) return;
    const value = toNumber(text);
    const attributes = toAttributes(labels);
    const part = MARKS[family.type];
    if (part === undefined) {
      if (!Number.isNaN(value)) this.#add({ kind: "number", attributes, value });
      return;
    }
    // Buckets and quantiles of one series follow each other, each with a bound of its own.
    const own = attributes.filter(([key]) => key !== part.bound);
    const key = JSON.stringify(own);
    if (this.#open?.key !== key) {
      this.#close();
      this.#open = { kind: part.kind, key, attributes: own, bounds: [], count: 0, sum: 0 };
    }
    const bound = attributes.find(([label]) => label === part.bound)?.[1];
    if (name.endsWith("_sum") && bound === undefined) this.#open.sum = value;
    else if (name.endsWith("_count") && bound === undefined) this.#open.count = value;
    else if (bound !== undefined) this.#open.bounds.push([toNumber(bound), value]);
  }

  #close(): void {
    const series = this.#open;
    this.#open = undefined;
    if (series === undefined) return;
    const { kind, attributes, count, sum, bounds } = series;
    if (kind === "summary") {
      this.#add({ kind, attributes, count, sum, quantiles: bounds });
      return;
    }
    const finite = bounds.filter(([bound]) => Number.isFinite(bound));
    const counts = [...finite.map(([, upTo]) => upTo), count].map((upTo, at) => upTo - (finite[at - 1]?.[1] ?? 0));
    this.#add({ kind, attributes, count, sum, bounds: finite.map(([bound]) => bound), counts });
  }

  #add(point: Point): void {
    this.#points.push(point);
    if (this.#points.length >= MAX_POINTS) this.#flush();
  }

  #flush(): void {
    if (this.#family !== undefined && this.#points.length > 0)
      this.#onMetric(encodeMetric(this.#family, this.#points, this.#times));
    this.#points = [];
  }
}

interface OpenSeries {
  readonly kind: "histogram" | "summary";
  readonly key: string;
  readonly attributes: Attributes;
  readonly bounds: [number, number][];
  count: number;
  sum: number;
}

const MARKS: Readonly<Record<string, { readonly kind: OpenSeries["kind"]; readonly bound: string }>> = {
  histogram: { kind: "histogram", bound: "le" },
  summary: { kind: "summary", bound: "quantile" },
};

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? +(\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

function toAttributes(labels: string): Attributes {
  return [...labels.matchAll(LABEL)].map(([, name = "", value = ""]) => [
    name,
    value.includes("\\") ? value.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter)) : value,
  ]);
}

function toNumber(text: string): number {
  if (text === "+Inf" || text === "Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}
