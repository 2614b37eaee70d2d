import { buildStamp } from "../base/build-stamp.ts";
import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Log } from "../base/log/log.ts";
import { LOG_LEVELS, type LogThreshold } from "../base/logger.ts";
import type { MetricRegistry } from "../base/metric-registry.ts";
import type { Readiness } from "../base/readiness.ts";
import { joinHostPort } from "../net/host-port.ts";
import { errorText, type HttpHandler, json } from "../net/http-server/http-types.ts";
import { renderProcessMetrics, startEventLoopLag } from "../process/process-metrics.ts";
import { readAppProbers } from "./core/app-probers.ts";
import type { StatusRules } from "./core/generations.ts";
import { readScrapeTargets } from "./core/scrape-targets.ts";
import { addDebugRoutes, type DebugSources } from "./debug-routes.ts";
import { plainText, type StatusActions } from "./endpoints.ts";
import { createMetricsHandler } from "./metrics/metrics-handler.ts";
import type { ScrapeMetrics } from "./metrics.ts";
import type { OtlpSettings } from "./otlp/exporter.ts";
import { createAppProbeHandler } from "./probes/app-probe-handler.ts";
import { createProbeConnections } from "./probes/probe-connections.ts";
import { type StatusServer, startStatusServer } from "./start-status-server.ts";
import type { StatusRoutes } from "./status-routes.ts";

const PAGES = {
  cmdline: "the command line, its words separated by NUL",
  symbol: "for pprof clients: profiles carry their names themselves",
  profile: "CPU profile, on the unix socket of PROFILING_SOCKET only",
  heap: "heap snapshot, on the unix socket of PROFILING_SOCKET only",
} as const;

/** What flags and environment say about the status server. */
export interface StatusSettings {
  readonly rules: StatusRules;
  /** 0: no status server. */
  readonly statusPort: number;
  readonly envoyPrometheusPort: number;
  readonly localhost: string;
  readonly probeSourceAddress: string;
  /** INSTANCE_IP as given: where application probes go. */
  readonly podIp: string;
  readonly noEnvoy: boolean;
  /** Pages about the process that reveal no secret. */
  readonly profiling: boolean;
  /** Path of the unix socket for profiles; empty: none. */
  readonly profilingSocket: string;
  /** Decoded JSON of ISTIO_KUBE_APP_PROBERS by URL path. */
  readonly appProbers: Readonly<Record<string, unknown>>;
  /** Decoded JSON of ISTIO_PROMETHEUS_ANNOTATIONS; undefined when unset or not a sidecar. */
  readonly prometheus: unknown;
  readonly http2Probing: boolean;
  readonly legacyLocalhostProbes: boolean;
  readonly keepaliveProbes: boolean;
  readonly mergeEnvoyStats: boolean;
  readonly metricsLocalhostOnly: boolean;
  /** Where the merged metrics are pushed to; absent: nowhere. */
  readonly otlp?: OtlpSettings;
}

export interface StatusOptions extends StatusSettings {
  readonly readiness: Readiness;
  readonly actions: StatusActions;
  /** Of the whole agent. */
  readonly registry: MetricRegistry;
  readonly metrics: ScrapeMetrics;
  /** The words the process was started with, shown by `/debug/pprof/cmdline`. */
  readonly commandLine: readonly string[];
  readonly log: Log;
}

export interface AgentStatus extends Handle {
  readonly port: number;
  /** Pages about parts that are started later. */
  addDebugPages(sources: DebugSources): void;
}

/** The status server with every page that needs no other part of the agent. Undefined when its port is 0. */
export async function startStatus(options: StatusOptions): Promise<AgentStatus | undefined> {
  const { statusPort, readiness, actions, rules, log } = options;
  if (statusPort <= 0) return undefined;
  const { version, revision, status, tag } = buildStamp;
  await using opened = new CloseStack();
  const server = opened.add(
    await startStatusServer({
      port: statusPort,
      readiness,
      actions,
      hasDrain: rules.hasDrain,
      compresses: rules.compresses,
      version: { version, revision, status, tag },
      log: log.logger,
    }),
  );
  addMetrics(server, options, opened.add(startEventLoopLag()));
  addAppProbes(server, options, opened);
  server.route("*", "/debug/logging", logLevelPage(log), { localOnly: true });
  if (options.profiling) registerProcessPages(server, options);
  if (options.profilingSocket !== "") {
    const { startProfilingSocket } = await import("./start-profiling-socket.ts");
    const profiles = await startProfilingSocket({ path: options.profilingSocket, log: log.logger });
    if (profiles !== undefined) opened.add(profiles);
  }
  if (options.otlp !== undefined) {
    const { startOtlpPush } = await import("./otlp/start-otlp-push.ts");
    const source = `http://${joinHostPort(options.localhost, server.port)}/stats/prometheus`;
    opened.add(startOtlpPush({ ...options.otlp, source, metrics: options.metrics, log: log.logger }));
  }
  const owned = opened.move();
  return toHandle({
    port: server.port,
    addDebugPages: (sources: DebugSources) => addDebugRoutes(server, sources),
    ended: server.ended,
    stop: () => owned.close(),
  });
}

function addMetrics(server: StatusServer, options: StatusOptions, lag: ReturnType<typeof startEventLoopLag>): void {
  const { rules } = options;
  const hasEnvoy = !options.noEnvoy && options.mergeEnvoyStats;
  const handler = createMetricsHandler({
    ...(hasEnvoy && { envoy: { host: options.localhost, port: options.envoyPrometheusPort } }),
    targets: readScrapeTargets(options.prometheus, options.statusPort, rules.targets),
    passesQuery: rules.passesQuery,
    filtersAccept: rules.filtersAccept,
    agentFirst: rules.agentFirst,
    agentText: () => options.registry.render() + renderProcessMetrics(lag),
    metrics: options.metrics,
    log: options.log.logger,
  });
  const access = { loopbackOnly: options.metricsLocalhostOnly };
  server.route("*", "/stats/prometheus", handler, access);
  if (rules.hasShortMetricsPath) server.route("*", "/metrics", handler, access);
}

function addAppProbes(server: StatusServer, options: StatusOptions, opened: CloseStack): void {
  const { rules } = options;
  const isLocal = options.legacyLocalhostProbes || rules.localProbes;
  const connections = options.keepaliveProbes ? createProbeConnections() : undefined;
  opened.defer(async () => connections?.close());
  const handler = createAppProbeHandler({
    probers: readAppProbers(options.appProbers, rules.probers),
    target: { host: isLocal ? "localhost" : options.podIp, localAddress: options.probeSourceAddress },
    statusPort: options.statusPort,
    http2: options.http2Probing,
    ...(connections !== undefined && { connections }),
    relaysBody: rules.relaysProbeBody,
    isLocal: rules.localProbes,
    log: options.log.logger.scope("probes"),
  });
  server.route("*", "/app-health/", handler);
  if (rules.hasLifecycle) server.route("*", "/app-lifecycle/", handler);
}

/** What the page needs of the process's log. */
interface LogLevels {
  levels(): ReadonlyMap<string, LogThreshold>;
  setLevel(scope: string, threshold: LogThreshold): void;
}

/** GET shows the level of every scope; POST or PUT with `?level=scope:level,...` changes some, all of them or none when one is wrong. */
export function logLevelPage(log: LogLevels): HttpHandler {
  return ({ method, query }) => {
    if (method !== "GET" && method !== "HEAD") {
      const changes = parseChanges(query.get("level"), log.levels());
      if ("problem" in changes) return errorText(400, changes.problem);
      for (const [scope, threshold] of changes.items) log.setLevel(scope, threshold);
    }
    return json(Object.fromEntries(log.levels()));
  };
}

type Changes = { readonly items: readonly [string, LogThreshold][] } | { readonly problem: string };

function parseChanges(asked: string | null, known: ReadonlyMap<string, LogThreshold>): Changes {
  if (asked === null || asked === "")
    return { problem: "no level: use ?level=debug, or ?level=scope:level,... (scope all for every one)" };
  const items: [string, LogThreshold][] = [];
  for (const item of asked.split(",")) {
    const parts = item.split(":");
    const [scope = "", level = ""] = parts.length === 1 ? ["default", parts[0]] : parts;
    const threshold = LOG_LEVELS.find((candidate) => candidate === level);
    if (threshold === undefined || parts.length > 2)
      return {
        problem: `level ${JSON.stringify(item)}: allowed are ${LOG_LEVELS.join(", ")}, with a scope and a colon in front`,
      };
    if (scope !== "all" && !known.has(scope))
      return { problem: `no scope named ${JSON.stringify(scope)}; there are: all, ${[...known.keys()].join(", ")}` };
    items.push([scope, threshold]);
  }
  return { items };
}

/**
 * `/debug/pprof/` on the status port: what every user of the machine may see. A heap snapshot holds the workload's private key and its
 * token, and loopback says nothing about who asks: those are served on a socket file that only root and the agent's user can open.
 */
export function registerProcessPages(
  routes: Pick<StatusRoutes, "route">,
  { commandLine, profilingSocket }: Pick<StatusOptions, "commandLine" | "profilingSocket">,
): void {
  const add = (page: string, handler: HttpHandler) =>
    routes.route("*", `/debug/pprof/${page}`, handler, { localOnly: true });
  add("", ({ path }) => {
    if (path !== "/debug/pprof/") return errorText(404, "404 page not found");
    const lines = Object.entries(PAGES).map(([name, about]) => `/debug/pprof/${name}\t${about}\n`);
    return plainText(lines.join(""));
  });
  // No flag takes a secret. /proc has the process's title instead.
  add("cmdline", () => plainText(commandLine.join("\0")));
  add("symbol", () => ({ status: 200, body: "num_symbols: 0\n" }));
  const refuseProfile: HttpHandler = ({ path }) => errorText(403, whereProfilesAre(path, profilingSocket));
  add("profile", refuseProfile);
  add("heap", refuseProfile);
}

function whereProfilesAre(path: string, socket: string): string {
  const why = "profiles can hold the workload's private key and tokens and are not served on this port";
  const how = (file: string) =>
    `as root or the agent's user: curl --unix-socket ${file} -o profile.json http://localhost${path}`;
  return socket === ""
    ? `${why}; start the agent with PROFILING_SOCKET=/path/of/a/socket, then ${how("/path/of/a/socket")}`
    : `${why}; ${how(socket)}`;
}
