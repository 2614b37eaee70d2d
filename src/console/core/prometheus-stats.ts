/** One sample of a scrape. */
interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;
const CLUSTER = "envoy_cluster_";
/** Counters whose names differ from Envoy's own: the class of the answer is a label. */
const CLASSES = "upstream_rq_xx";
const BUCKET = "envoy_cluster_upstream_rq_time_bucket";

/**
 * A scrape of an agent (`/stats/prometheus`) as Envoy's own statistics, for proxies whose admin interface cannot be reached. What the sidecar
 * does not let through is not in it; telemetry of Istio's proxies (`istio_requests_total`) stands in for clusters then.
 */
export function statsOfScrape(text: string): object {
  const stats: { readonly name: string; readonly value: number }[] = [];
  const buckets = new Map<string, { readonly upper: number; readonly count: number }[]>();
  const telemetry = new Map<string, { completed: number; errors: number; clientErrors: number }>();
  for (const line of text.split("\n")) {
    if (!line.startsWith(CLUSTER) && !line.startsWith("istio_requests_total{")) continue;
    const sample = parseLine(line);
    if (sample === undefined) continue;
    const cluster = sample.labels.get("cluster_name") ?? "";
    if (sample.name === "istio_requests_total") addTelemetry(telemetry, sample);
    else if (sample.name === BUCKET) addBucket(buckets, cluster, sample);
    else if (cluster !== "") stats.push({ name: `cluster.${cluster}.${statName(sample)}`, value: sample.value });
  }
  const known = new Set(stats.map(({ name }) => name));
  for (const [cluster, { completed, errors, clientErrors }] of telemetry) {
    if (known.has(`cluster.${cluster}.upstream_rq_completed`)) continue;
    stats.push({ name: `cluster.${cluster}.upstream_rq_completed`, value: completed });
    stats.push({ name: `cluster.${cluster}.upstream_rq_5xx`, value: errors });
    stats.push({ name: `cluster.${cluster}.upstream_rq_4xx`, value: clientErrors });
  }
  const details = [...buckets].map(([cluster, list]) => ({
    name: `cluster.${cluster}.upstream_rq_time`,
    totals: binsOf(list),
  }));
  return { stats: [...stats, { histograms: { details } }] };
}

function statName({ name, labels }: Sample): string {
  const short = name.slice(CLUSTER.length);
  if (short === CLASSES) return `upstream_rq_${labels.get("response_code_class") ?? "x"}xx`;
  return short.replace(/^ssl_/, "ssl.");
}

function addTelemetry(
  telemetry: Map<string, { completed: number; errors: number; clientErrors: number }>,
  { labels, value }: Sample,
): void {
  if (labels.get("reporter") !== "source") return;
  const host = labels.get("destination_service") ?? "";
  if (host === "" || host === "unknown") return;
  const version = labels.get("destination_version") ?? "";
  const cluster = `outbound|0|${version === "unknown" ? "" : version}|${host}`;
  const sum = telemetry.get(cluster) ?? { completed: 0, errors: 0, clientErrors: 0 };
  const code = Number(labels.get("response_code") ?? 0);
  sum.completed += value;
  if (code === 0 || code >= 500) sum.errors += value;
  else if (code >= 400) sum.clientErrors += value;
  telemetry.set(cluster, sum);
}

function addBucket(
  buckets: Map<string, { readonly upper: number; readonly count: number }[]>,
  cluster: string,
  { labels, value }: Sample,
): void {
  const upper = labels.get("le") === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.get("le"));
  const list = buckets.get(cluster) ?? [];
  list.push({ upper, count: value });
  buckets.set(cluster, list);
}

/** Buckets of a scrape are cumulative and have no lower bound. */
function binsOf(buckets: readonly { readonly upper: number; readonly count: number }[]) {
  const sorted = [...buckets].sort((a, b) => a.upper - b.upper);
  return sorted.flatMap(({ upper, count }, at) => {
    const { upper: lower = 0, count: below = 0 } = sorted[at - 1] ?? {};
    const width = upper === Number.POSITIVE_INFINITY ? 0 : upper - lower;
    return count > below ? [{ lower_bound: lower, width, count: count - below }] : [];
  });
}

function parseLine(line: string): Sample | undefined {
  const [, name, labels = "", value = ""] = LINE.exec(line) ?? [];
  if (name === undefined || !Number.isFinite(Number(value))) return undefined;
  const found = [...labels.matchAll(LABEL)].map(
    ([, label = "", text = ""]) => [label, text.replace(/\\(.)/g, "$1")] as const,
  );
  return { name, labels: new Map(found), value: Number(value) };
}
