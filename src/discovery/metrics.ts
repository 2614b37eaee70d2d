import { buildStamp } from "../base/build-stamp.ts";
import type { Counter, Gauge, MetricRegistry } from "../base/metric-registry.ts";
import { type CaServerMetrics, declareCaServerMetrics } from "../ca/index.ts";
import type { StoreCounts } from "../mesh-model/derive/derived-store.ts";
import { type AdsMetrics, declareAdsMetrics } from "./ads/metrics.ts";
import { CONFLICT_METRICS, type ConflictMetric, type MeshFigures } from "./mesh-figures.ts";
import { declarePushMetrics, type PushMetrics } from "./push/metrics.ts";
import { ageSeconds, type SourceFreshness } from "./source-freshness.ts";

/** The build as one word, as tools of the reference read it. */
export const VERSION_LINE = `${buildStamp.version}-${buildStamp.revision}-${buildStamp.status}`;

/** Everything the control plane counts. */
export interface DiscoveryMetrics {
  readonly ads: AdsMetrics;
  readonly push: PushMetrics;
  readonly ca: CaServerMetrics;
  readonly rejectedConfigs: Gauge;
  readonly credentialErrors: Counter;
  /** Where figures about the mesh of this moment are read at each scrape. */
  setMeshSource(read: () => MeshFigures): void;
  /** Where the age of what is known of clusters is read at each scrape. */
  setSources(read: () => readonly SourceFreshness[]): void;
  /** Where metrics of cached resources are read at each scrape. */
  setCacheSource(counts: Readonly<StoreCounts>): void;
}

export function declareDiscoveryMetrics(registry: MetricRegistry, uptimeSeconds: () => number): DiscoveryMetrics {
  let read: () => MeshFigures | undefined = () => undefined;
  let current: MeshFigures | undefined;
  const reset = () => {
    current = undefined;
  };
  const figure = (name: string, help: string, of: (figures: MeshFigures) => number) =>
    registry.gaugeOf({ name, help }, () => {
      // The series of one scrape are read in one turn: the mesh is counted once for all of them.
      if (current === undefined) queueMicrotask(reset);
      current ??= read();
      return current === undefined ? undefined : of(current);
    });
  registry.gaugeOf({ name: "pilot_info", help: "The version of the server.", labels: ["version"] }, () => 1, [
    VERSION_LINE,
  ]);
  registry.gaugeOf({ name: "istio_build", help: "The build of the server.", labels: ["component", "tag"] }, () => 1, [
    "pilot",
    buildStamp.tag,
  ]);
  registry.gaugeOf({ name: "istiod_uptime_seconds", help: "Seconds since the server started." }, uptimeSeconds);
  figure("pilot_services", "Services known.", (figures) => figures.services);
  figure("pilot_virt_services", "VirtualServices known.", (figures) => figures.virtualServices);
  figure("pilot_eds_no_instances", "Services without endpoints.", (figures) => figures.servicesWithoutEndpoints);
  figure("pilot_endpoint_not_ready", "Endpoints that are not healthy.", (figures) => figures.endpointsNotReady);
  figure(
    "pilot_dns_cluster_without_endpoints",
    "Services that are resolved by DNS and have no endpoints.",
    (figures) => figures.dnsWithoutEndpoints,
  );
  figure(
    "pilot_no_ip",
    "Connected sidecars whose addresses no service has.",
    (figures) => figures.sidecarsWithoutService,
  );
  figure("endpoint_no_pod", "Endpoints that wait for their pod.", (figures) => figures.endpointsWithoutPod);
  for (const [name, help] of Object.entries(CONFLICT_METRICS)) {
    figure(name, help, ({ conflicts }) => Object.keys(conflicts[name as ConflictMetric]).length);
  }
  return {
    ads: declareAdsMetrics(registry),
    push: declarePushMetrics(registry),
    ca: declareCaServerMetrics(registry),
    credentialErrors: registry.counter({
      name: "pilot_sds_certificate_errors_total",
      help: "Credentials that proxies asked for and did not get, or that do not work.",
    }),
    rejectedConfigs: registry.gauge({
      name: "pilot_total_rejected_configs",
      help: "Documents that are refused at the moment, and resources that were left out since the start.",
      labels: ["type"],
    }),
    setSources: declareSourceMetrics(registry),
    setCacheSource: declareCacheMetrics(registry),
    setMeshSource: (source) => {
      read = source;
    },
  };
}

/** The names are those of the reference where it has one. */
function declareSourceMetrics(registry: MetricRegistry): DiscoveryMetrics["setSources"] {
  let read: () => readonly SourceFreshness[] = () => [];
  let shown: readonly string[] = [];
  // Declared, and so read, before the two others: it brings them up to date.
  registry.gaugeOf({ name: "pilot_stale_clusters", help: "Clusters whose API server is away." }, () => {
    const sources = read();
    const clusters = sources.filter(({ provider }) => provider === "Kubernetes");
    managed.set(clusters.filter(({ secret }) => secret === "").length, ["local"]);
    managed.set(clusters.filter(({ secret }) => secret !== "").length, ["remote"]);
    for (const id of shown) age.remove([id]);
    for (const source of sources) age.set(ageSeconds(source, Date.now()) ?? -1, [source.id]);
    shown = sources.map(({ id }) => id);
    return sources.filter(({ state }) => state === "stale" || state === "let-go").length;
  });
  const managed = registry.gauge({
    name: "istiod_managed_clusters",
    help: "Clusters that are followed: the control plane's own, and those of remote secrets.",
    labels: ["cluster_type"],
  });
  const age = registry.gauge({
    name: "pilot_cluster_age_seconds",
    help: "Seconds since the oldest of the last proofs that the copies of a cluster's objects are complete; -1 before the first.",
    labels: ["cluster"],
  });
  return (source) => {
    read = source;
  };
}

/** What the generators count themselves, as counting by label for every lookup would cost more than the lookup. */
function declareCacheMetrics(registry: MetricRegistry): DiscoveryMetrics["setCacheSource"] {
  let counts: Readonly<StoreCounts> | undefined;
  let reported = { hits: 0, misses: 0, evictions: 0 };
  // Declared, and so read, before the two counters: it brings them up to date.
  registry.gaugeOf({ name: "xds_cache_size", help: "Cached results that later answers are made of." }, () => {
    if (counts === undefined) return undefined;
    const { hits, misses, evictions, size } = counts;
    reads.inc(["hit"], hits - reported.hits);
    reads.inc(["miss"], misses - reported.misses);
    evicted.inc(["clear"], evictions - reported.evictions);
    reported = { hits, misses, evictions };
    return size;
  });
  const reads = registry.counter({
    name: "xds_cache_reads",
    help: "Cache lookups, by outcome.",
    labels: ["type"],
  });
  const evicted = registry.counter({
    name: "xds_cache_evictions",
    help: "Cached results that were evicted.",
    labels: ["type"],
  });
  return (source) => {
    counts = source;
  };
}
