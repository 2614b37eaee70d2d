/** Label values in the order of the metric's declared label names. */
export type LabelValues = readonly string[];

export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface Counter {
  inc(labels?: LabelValues, by?: number): void;
}

export interface Gauge {
  set(value: number, labels?: LabelValues): void;
  add(delta: number, labels?: LabelValues): void;
  /** Drops the series, so that a name that went away is not reported for ever. */
  remove(labels?: LabelValues): void;
}

export interface Histogram {
  observe(value: number, labels?: LabelValues): void;
}

/** For generated documents. */
export interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

export type ExpositionFormat = "text" | "openmetrics";

interface Metric {
  readonly spec: MetricSpec;
  readonly type: "counter" | "gauge" | "histogram";
  render(format: ExpositionFormat): string[];
}

const NO_LABELS: LabelValues = [];

/** Metrics of one process or one test. Declared once by each folder's `metrics.ts`; a name declared twice is a programming error. */
export class MetricRegistry {
  readonly #metrics = new Map<string, Metric>();

  counter(spec: MetricSpec): Counter {
    const series = new Series(spec);
    this.#register({ spec, type: "counter", render: (format) => series.render(counterName(spec.name, format)) });
    return { inc: (labels = NO_LABELS, by = 1) => series.add(labels, by) };
  }

  gauge(spec: MetricSpec): Gauge {
    const series = new Series(spec);
    this.#register({ spec, type: "gauge", render: () => series.render(spec.name) });
    return {
      set: (value, labels = NO_LABELS) => series.set(labels, value),
      add: (delta, labels = NO_LABELS) => series.add(labels, delta),
      remove: (labels = NO_LABELS) => series.remove(labels),
    };
  }

  /** A gauge whose value is asked for at each scrape; undefined leaves the series out. */
  gaugeOf(spec: MetricSpec, read: () => number | undefined, labels: LabelValues = NO_LABELS): void {
    const render = () => {
      const value = read();
      if (value === undefined) return [];
      const series = new Series(spec);
      series.set(labels, value);
      return series.render(spec.name);
    };
    this.#register({ spec, type: "gauge", render });
  }

  histogram(spec: MetricSpec & { readonly buckets: readonly number[] }): Histogram {
    const series = new BucketSeries(spec, spec.buckets);
    this.#register({ spec, type: "histogram", render: () => series.render() });
    return { observe: (value, labels = NO_LABELS) => series.observe(labels, value) };
  }

  /** Series never touched are absent, as with labelled metrics of the usual client libraries. OpenMetrics ends with its EOF line. */
  render(format: ExpositionFormat = "text"): string {
    const lines: string[] = [];
    for (const metric of this.#metrics.values()) {
      const samples = metric.render(format);
      if (samples.length === 0) continue;
      const family =
        format === "openmetrics" && metric.type === "counter"
          ? metric.spec.name.replace(/_total$/, "")
          : metric.spec.name;
      lines.push(`# HELP ${family} ${escapeHelp(metric.spec.help)}`, `# TYPE ${family} ${metric.type}`);
      // One by one: more arguments than fit on the stack cannot be passed.
      for (const sample of samples) lines.push(sample);
    }
    if (format === "openmetrics") lines.push("# EOF");
    return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
  }

  /** Every declared metric, used or not, by name. */
  describe(): MetricDescription[] {
    return [...this.#metrics.values()]
      .map(({ spec, type }) => ({ name: spec.name, type, help: spec.help }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #register(metric: Metric): void {
    if (this.#metrics.has(metric.spec.name)) throw new Error(`metric ${metric.spec.name} is declared twice`);
    this.#metrics.set(metric.spec.name, metric);
  }
}

/** Values by label set, keyed by the rendered label text so that rendering needs no second look. */
class Series {
  readonly #labelNames: readonly string[];
  readonly #values = new Map<string, number>();

  constructor(spec: MetricSpec) {
    this.#labelNames = spec.labels ?? [];
  }

  add(labels: LabelValues, delta: number): void {
    const key = this.#key(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + delta);
  }

  set(labels: LabelValues, value: number): void {
    this.#values.set(this.#key(labels), value);
  }

  remove(labels: LabelValues): void {
    this.#values.delete(this.#key(labels));
  }

  render(name: string): string[] {
    return [...this.#values].map(([key, value]) => `${name}${key} ${formatNumber(value)}`);
  }

  #key(labels: LabelValues): string {
    return labelText(this.#labelNames, labels);
  }
}

interface Buckets {
  readonly labels: LabelValues;
  /** One per bound and one above the last; not cumulative, so that observing touches one of them. */
  readonly counts: Float64Array;
  sum: number;
}

class BucketSeries {
  readonly #spec: MetricSpec;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Buckets>();

  constructor(spec: MetricSpec, bounds: readonly number[]) {
    this.#spec = spec;
    this.#bounds = bounds;
  }

  observe(labels: LabelValues, value: number): void {
    const key = labels.length === 0 ? "" : labels.join("\0");
    let buckets = this.#series.get(key);
    if (buckets === undefined) {
      buckets = { labels, counts: new Float64Array(this.#bounds.length + 1), sum: 0 };
      this.#series.set(key, buckets);
    }
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] ?? 0)) index += 1;
    buckets.counts[index] = (buckets.counts[index] ?? 0) + 1;
    buckets.sum += value;
  }

  /** All buckets, then all sums, then all counts. */
  render(): string[] {
    const { name, labels: names = [] } = this.#spec;
    const rows: { readonly suffix: string; readonly text: string }[] = [];
    for (const { labels, counts, sum } of this.#series.values()) {
      let total = 0;
      counts.forEach((count, index) => {
        total += count;
        const bound = index < this.#bounds.length ? formatNumber(this.#bounds[index] ?? 0) : "+Inf";
        rows.push({
          suffix: "bucket",
          text: `${name}_bucket${labelText([...names, "le"], [...labels, bound])} ${total}`,
        });
      });
      rows.push({ suffix: "sum", text: `${name}_sum${labelText(names, labels)} ${formatNumber(sum)}` });
      rows.push({ suffix: "count", text: `${name}_count${labelText(names, labels)} ${total}` });
    }
    return ["bucket", "sum", "count"].flatMap((suffix) =>
      rows.filter((row) => row.suffix === suffix).map((row) => row.text),
    );
  }
}

function labelText(names: readonly string[], values: LabelValues): string {
  if (names.length === 0) return "";
  return `{${names.map((name, index) => `${name}="${escapeLabel(values[index] ?? "")}"`).join(",")}}`;
}

function counterName(name: string, format: ExpositionFormat): string {
  return format === "openmetrics" && !name.endsWith("_total") ? `${name}_total` : name;
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/"/g, '\\"');
}

function escapeHelp(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
}
