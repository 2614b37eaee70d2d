import { buildStamp } from "../base/build-stamp.ts";
import type { CloseStack } from "../base/close-stack.ts";
import type { MetricRegistry } from "../base/metric-registry.ts";
import {
  createAppProbeHandler,
  createMetricsHandler,
  createProbeConnections,
  logLevelPage,
  type Readiness,
  readAppProbers,
  readScrapeTargets,
  registerProfiling,
  renderProcessMetrics,
  type StatusActions,
  type StatusServer,
  startEventLoopLag,
  startStatusServer,
} from "../status/index.ts";
import { step } from "./agent-error.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { StartAgentOptions } from "./options.ts";

export interface StatusParts {
  readonly readiness: Readiness;
  readonly actions: StatusActions;
  readonly registry: MetricRegistry;
  readonly metrics: AgentMetrics;
  /** Closes what the pages need when the agent ends. */
  readonly opened: CloseStack;
}

/** The status server with every page that needs no other part of the agent. Undefined when its port is 0. */
export async function connectStatus(options: StartAgentOptions, parts: StatusParts): Promise<StatusServer | undefined> {
  const { status: settings } = options.config;
  if (settings.statusPort <= 0) return undefined;
  const { version, revision, status: state, tag } = buildStamp;
  const { rules } = settings;
  const server = await step("failed to start status server", () =>
    startStatusServer({
      port: settings.statusPort,
      readiness: parts.readiness,
      actions: parts.actions,
      hasDrain: rules.hasDrain,
      compresses: rules.compresses,
      version: { version, revision, status: state, tag },
      log: options.log.logger,
    }),
  );
  parts.opened.add(server);
  addMetrics(server, options, parts);
  addAppProbes(server, options, parts.opened);
  const loopbackOnly = { loopbackOnly: true };
  server.route("*", "/debug/logging", logLevelPage(options.log), loopbackOnly);
  if (settings.profiling) registerProfiling(server);
  return server;
}

function addMetrics(server: StatusServer, { config, log }: StartAgentOptions, parts: StatusParts): void {
  const { status: settings } = config;
  const { rules } = settings;
  const lag = startEventLoopLag();
  parts.opened.add(lag);
  const hasEnvoy = !settings.noEnvoy && settings.mergeEnvoyStats;
  const handler = createMetricsHandler({
    ...(hasEnvoy && { envoy: { host: settings.localhost, port: settings.envoyPrometheusPort } }),
    targets: readScrapeTargets(settings.prometheus, settings.statusPort, rules.targets),
    passesQuery: rules.passesQuery,
    filtersAccept: rules.filtersAccept,
    agentFirst: rules.agentFirst,
    agentText: () => parts.registry.render() + renderProcessMetrics(lag),
    metrics: parts.metrics.scrape,
    log: log.logger,
  });
  const access = { loopbackOnly: settings.metricsLocalhostOnly };
  server.route("*", "/stats/prometheus", handler, access);
  if (rules.hasShortMetricsPath) server.route("*", "/metrics", handler, access);
}

function addAppProbes(server: StatusServer, { config, log }: StartAgentOptions, opened: CloseStack): void {
  const { status: settings } = config;
  const { rules } = settings;
  const isLocal = settings.legacyLocalhostProbes || rules.localProbes;
  const connections = settings.keepaliveProbes ? createProbeConnections() : undefined;
  opened.defer(async () => connections?.close());
  const handler = createAppProbeHandler({
    probers: readAppProbers(settings.appProbers, rules.probers),
    target: { host: isLocal ? "localhost" : settings.podIp, localAddress: settings.probeSourceAddress },
    statusPort: settings.statusPort,
    http2: settings.http2Probing,
    ...(connections !== undefined && { connections }),
    relaysBody: rules.relaysProbeBody,
    isLocal: rules.localProbes,
    log: log.logger.scope("probes"),
  });
  server.route("*", "/app-health/", handler);
  if (rules.hasLifecycle) server.route("*", "/app-lifecycle/", handler);
}
