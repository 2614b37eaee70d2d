import type { ExtensionProvider } from "../../istio-api/mesh-config/mesh-config.ts";
import { celProblem } from "../../istio-api/validation/cel-problem.ts";
import { question } from "../../mesh-model/derive/derived.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { messagesItem } from "../../mesh-model/metric-labels.ts";
import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import { asksForMetrics, telemetryObjects } from "../../mesh-model/telemetry.ts";
import { type WorkloadLabels, workloadLabels } from "../../mesh-model/workload-labels.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog, AccessLogFilter } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type {
  Config_Counter,
  Config_Histogram,
  Config_Stat,
} from "../../protobuf/gen/envoy/extensions/access_loggers/stats/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { inboundLayers, outboundLayers } from "../access-log/telemetry.ts";
import { withoutFailing } from "../shared/attempt.ts";
import { SCOPE } from "../shared/worlds.ts";
import {
  type CountedProtocol,
  destinationLabels,
  type JoinedLabels,
  type ServedService,
  sourceLabels,
  toTags,
} from "./metric-tags.ts";
import { METRICS, type Metric, type ResolvedMetrics, resolveMetrics } from "./resolve-metrics.ts";

/** Access logs that count, for the HTTP managers and TCP proxies of one direction. */
export interface MetricLogs {
  readonly http: readonly AccessLog[];
  readonly tcp: readonly AccessLog[];
}

export const NO_METRICS: MetricLogs = { http: [], tcp: [] };

export interface WorkloadMetrics<Logs> {
  readonly logs: Logs;
  /** What an object asks for and cannot be had. */
  readonly problems: readonly string[];
}

/** Of calls that workloads of the scope make. */
export function outboundMetrics(scope: OutboundScope, layers = outboundLayers(scope)): WorkloadMetrics<MetricLogs> {
  const { isOn, resolved, problems } = usable(resolveMetrics("CLIENT", layers, scope.mesh), scope.mesh);
  if (!isOn) return { logs: NO_METRICS, problems };
  return {
    logs: { http: httpLogs(resolved, sourceLabels), tcp: tcpLogs(resolved, sourceLabels("tcp")) },
    problems,
  };
}

/** Of calls to the view's workload: by the service that is called. */
export function inboundMetrics(
  view: ProxyView,
  layers = inboundLayers(view),
): WorkloadMetrics<(service: ServedService) => MetricLogs> {
  const { mesh } = view.snapshot;
  const { isOn, resolved, problems } = usable(resolveMetrics("SERVER", layers, mesh), mesh);
  if (!isOn) return { logs: () => NO_METRICS, problems };
  const workload = ownLabels(view);
  const logs = (service: ServedService) => {
    const labelsOf = (protocol: CountedProtocol) => destinationLabels(protocol, workload, service);
    return { http: httpLogs(resolved, labelsOf), tcp: tcpLogs(resolved, labelsOf("tcp")) };
  };
  return { logs, problems };
}

export function resolveOutboundMetrics(scope: OutboundScope): ResolvedMetrics {
  return resolveMetrics("CLIENT", outboundLayers(scope), scope.mesh);
}

export function resolveInboundMetrics(view: ProxyView): ResolvedMetrics {
  return resolveMetrics("SERVER", inboundLayers(view), view.snapshot.mesh);
}

/** Endpoints, clusters and requests of the scope say who they are. Proxyless clients have no use for it. */
export const describesPeers = question(SCOPE, "describesPeers", ({ snapshot, mesh, traits }) => {
  if (traits.generator !== "") return false;
  const objects = telemetryObjects(snapshot.configs, mesh.rootNamespace, traits.namespace);
  return withoutFailing(objects, (some) => asksForMetrics(mesh, some)).made;
});

function ownLabels({ node }: ProxyView): WorkloadLabels {
  const { namespace, labels, clusterId, metadata } = node;
  const { WORKLOAD_NAME: name } = metadata;
  return workloadLabels({ workloadName: typeof name === "string" ? name : "", namespace, labels, clusterId });
}

/** Providers that are not Prometheus have nothing behind them in Envoy. */
function usable(resolved: ResolvedMetrics, { source }: MeshSettings) {
  const { extensionProviders = [] } = source as { readonly extensionProviders?: readonly ExtensionProvider[] };
  const reasons = resolved.providers.map((name) => {
    const provider = extensionProviders.find((candidate) => candidate.name?.toLowerCase() === name.toLowerCase());
    const reason = provider === undefined ? "the mesh has no such provider" : providerProblem(provider);
    return reason && `metrics provider ${JSON.stringify(name)}: ${reason}`;
  });
  const wrong = wrongExpressions(resolved);
  const metrics = new Map(
    [...resolved.metrics].map(([metric, { isDisabled, tags }]) => [
      metric,
      { isDisabled, tags: new Map([...tags].filter(([, value]) => value === undefined || !wrong.has(value))) },
    ]),
  );
  return {
    isOn: reasons.some((reason) => reason === undefined),
    resolved: { ...resolved, metrics },
    problems: [...reasons.filter((reason) => reason !== undefined), ...resolved.problems, ...wrong.values()],
  };
}

export function providerProblem({ prometheus }: ExtensionProvider): string | undefined {
  return prometheus === undefined ? "only Prometheus providers have metrics: other kinds are not in Envoy" : undefined;
}

/** Envoy would refuse the whole listener because of one of these. */
function wrongExpressions({ metrics }: ResolvedMetrics): ReadonlyMap<string, string> {
  const wrong = new Map<string, string>();
  for (const { tags } of metrics.values()) {
    for (const [tag, value] of tags) {
      if (value === undefined || wrong.has(value)) continue;
      const problem = value.includes("%")
        ? "the expression has a % in it"
        : (celProblem(value) ?? unknownFunction(value));
      if (problem !== undefined)
        wrong.set(value, `metric tag ${tag} stays as it is, ${JSON.stringify(value)}: ${problem}`);
    }
  }
  return wrong;
}

/** Functions that Envoy evaluates; with any other it refuses the listener. */
const FUNCTIONS = new Set(
  "size contains startsWith endsWith matches int uint double bytes duration timestamp type has dyn".split(" "),
);

function unknownFunction(expression: string): string | undefined {
  const withoutTexts = expression.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, "''");
  const names = [...withoutTexts.matchAll(/([A-Za-z_]\w*)\s*\(/g)].map(([, name = ""]) => name);
  const unknown = names.find((name) => name !== "in" && !FUNCTIONS.has(name));
  return unknown && `Envoy has no function ${unknown}`;
}

/** Calls of gRPC have a log of their own: so the others need not be asked for what only those have. */
function httpLogs(
  resolved: ResolvedMetrics,
  labelsOf: (protocol: CountedProtocol) => JoinedLabels,
): readonly AccessLog[] {
  return [
    ...requestLog(resolved, labelsOf("http"), NOT_GRPC),
    ...requestLog(resolved, labelsOf("grpc"), IS_GRPC),
    ...messageLog(resolved, labelsOf("grpc")),
  ];
}

/** Streams of many lengths are many series, which must not use up what other metrics need. */
const MESSAGE_BUDGET = { maxCounters: 2000, maxHistograms: 1, sharingName: "istio-messages" } as const;

function messageLog(resolved: ResolvedMetrics, { items, source }: JoinedLabels): readonly AccessLog[] {
  const stat = statsOf(resolved, { items: [...items, messagesItem(`%FILTER_STATE(${GRPC_STATS}:PLAIN)%`)], source });
  const counters = (["GRPC_REQUEST_MESSAGES", "GRPC_RESPONSE_MESSAGES"] as const).flatMap((metric) =>
    stat(metric, (each) => ({ stat: each, valueFixed: 1 })),
  );
  return countingLog(counters, [], IS_GRPC, MESSAGE_BUDGET).map((log) => ({ ...log, name: MESSAGE_LOG }));
}

const GRPC_STATS = "envoy.filters.http.grpc_stats";

/** Counts messages of a call for the log above; calls that are not gRPC pass it by. */
export function messageFilters(logs: readonly AccessLog[]): readonly HttpFilter[] {
  return logs.some(({ name }) => name === MESSAGE_LOG) ? [COUNTS_MESSAGES] : [];
}

const COUNTS_MESSAGES: HttpFilter = {
  name: GRPC_STATS,
  typedConfig: pack("envoy.extensions.filters.http.grpc_stats.v3.FilterConfig", {
    emitFilterState: true,
    statsForAllMethods: false,
  }),
};

function requestLog(resolved: ResolvedMetrics, labels: JoinedLabels, filter: AccessLogFilter): readonly AccessLog[] {
  const stat = statsOf(resolved, labels);
  return countingLog(
    stat("REQUEST_COUNT", (each) => ({ stat: each, valueFixed: 1 })),
    [
      ...stat("REQUEST_DURATION", (each) => ({ stat: each, unit: "Milliseconds", valueFormat: "%DURATION%" }) as const),
      ...stat(
        "REQUEST_SIZE",
        (each) => ({ stat: each, unit: "Bytes", valueFormat: "%DOWNSTREAM_WIRE_BYTES_RECEIVED%" }) as const,
      ),
      ...stat(
        "RESPONSE_SIZE",
        (each) => ({ stat: each, unit: "Bytes", valueFormat: "%DOWNSTREAM_WIRE_BYTES_SENT%" }) as const,
      ),
    ],
    filter,
  );
}

const grpcFilter = (invertMatch: boolean): AccessLogFilter => ({
  headerFilter: {
    header: {
      name: "content-type",
      stringMatch: { prefix: "application/grpc" },
      // A header that is missing would match neither.
      ...(invertMatch && { invertMatch, treatMissingHeaderAsEmpty: true }),
    },
  },
});
const IS_GRPC = grpcFilter(false);
const NOT_GRPC = grpcFilter(true);

/** A connection is written down when it reaches its server, and when it ends. */
function tcpLogs(resolved: ResolvedMetrics, labels: JoinedLabels): readonly AccessLog[] {
  const stat = statsOf(resolved, labels);
  const opened = stat("TCP_OPENED_CONNECTIONS", (each) => ({ stat: each, valueFixed: 1 }));
  const closed = [
    ...stat("TCP_CLOSED_CONNECTIONS", (each) => ({ stat: each, valueFixed: 1 })),
    ...stat("TCP_SENT_BYTES", (each) => ({ stat: each, valueFormat: "%BYTES_SENT%" })),
    ...stat("TCP_RECEIVED_BYTES", (each) => ({ stat: each, valueFormat: "%BYTES_RECEIVED%" })),
  ];
  return [...countingLog(opened, [], AT_START), ...countingLog(closed, [], AT_END)];
}

type MakeStat = <Made>(metric: Metric, make: (stat: Config_Stat) => Made) => readonly Made[];

function statsOf({ metrics }: ResolvedMetrics, labels: JoinedLabels): MakeStat {
  return (metric, make) => {
    const choice = metrics.get(metric);
    if (choice === undefined || choice.isDisabled) return [];
    return [make({ name: METRICS[metric], tags: toTags(labels, choice.tags) })];
  };
}

/**
 * Series of one proxy, all of its listeners together. What would be one more is not counted, and Envoy's own
 * `server_stats_overflow_*` says how often that was: a tag with too many values must not take the proxy's memory.
 */
const BUDGET = { maxCounters: 10_000, maxHistograms: 10_000, sharingName: "istio" } as const;

function countingLog(
  counters: readonly Config_Counter[],
  histograms: readonly Config_Histogram[],
  filter?: AccessLogFilter,
  statsScope: typeof BUDGET | typeof MESSAGE_BUDGET = BUDGET,
): readonly AccessLog[] {
  if (counters.length + histograms.length === 0) return [];
  return [
    {
      name: COUNTING_LOG,
      ...(filter && { filter }),
      typedConfig: pack("envoy.extensions.access_loggers.stats.v3.Config", {
        statsScope,
        counters,
        histograms,
      }),
    },
  ];
}

/** Connections are then also written down when they reach their server. */
export function isCounting({ name }: AccessLog): boolean {
  return name === COUNTING_LOG || name === MESSAGE_LOG;
}

const COUNTING_LOG = "envoy.access_loggers.stats";
const MESSAGE_LOG = `${COUNTING_LOG}.messages`;

const CONNECTED: AccessLogFilter = { logTypeFilter: { types: ["TcpUpstreamConnected"] } };
const AT_END: AccessLogFilter = { logTypeFilter: { types: ["TcpConnectionEnd"] } };
/** A connection whose server could not be reached was opened all the same. */
const AT_START: AccessLogFilter = {
  orFilter: {
    filters: [
      CONNECTED,
      { andFilter: { filters: [AT_END, { responseFlagFilter: { flags: ["UF", "UH", "UO", "NR", "NC", "URX"] } }] } },
    ],
  },
};

/** Logs that others asked for have one line per connection, although metrics make a proxy write at its start as well. */
export function onlyAtEnd(log: AccessLog): AccessLog {
  const { filter } = log;
  return { ...log, filter: filter === undefined ? NOT_AT_START : { andFilter: { filters: [NOT_AT_START, filter] } } };
}

const NOT_AT_START: AccessLogFilter = { logTypeFilter: { types: ["TcpUpstreamConnected"], exclude: true } };
