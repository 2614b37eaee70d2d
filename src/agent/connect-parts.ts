import type { CloseStack } from "../base/close-stack.ts";
import { toHandle } from "../base/handle.ts";
import type { MetricRegistry } from "../base/metric-registry.ts";
import { createReadiness } from "../base/readiness.ts";
import { writeGrpcBootstrap } from "../bootstrap/index.ts";
import { startDnsServer } from "../dns/index.ts";
import type { EnvoyHandle, EnvoyMetrics } from "../envoy/index.ts";
import { startTokenFetcher } from "../identity/index.ts";
import { compileIpCheck } from "../net/compile-ip-check.ts";
import type { PlatformInfo } from "../platform/index.ts";
import { envoyLivenessCheck, grpcBootstrapCheck, startStatus } from "../status/index.ts";
import { startTokenExchange } from "../sts/index.ts";
import type { HealthCheckConfig } from "../workload-health/index.ts";
import { step } from "./agent-error.ts";
import { readBootstrapInputs } from "./bootstrap-inputs.ts";
import { connectHealth } from "./connect-health.ts";
import { connectIdentity, createLateBundle, requireMachineRoot } from "./connect-identity.ts";
import { connectXds } from "./connect-xds.ts";
import { createEnvoyReadiness } from "./envoy-readiness.ts";
import { type Launch, servesXds } from "./launch-envoy.ts";
import { declareAgentMetrics } from "./metrics.ts";
import type { Agent, StartAgentOptions } from "./options.ts";
import { watchForReload } from "./watch-for-reload.ts";

export interface AgentParts {
  /** Taken over when all is well. */
  readonly opened: CloseStack;
  readonly probe: HealthCheckConfig | undefined;
  readonly platform: Promise<PlatformInfo>;
  readonly launch: Launch;
  readonly registry: MetricRegistry;
  readonly envoyMetrics: EnvoyMetrics;
  /** Aborted when the agent ends. */
  readonly stopping: AbortController;
  readonly signal: AbortSignal;
}

/**
 * Builds and connects the parts; the close stack makes the stop the mirror of this order. Parts that few agents have are imported when
 * they are needed: reading their code would delay every start.
 */
export async function connectParts(options: StartAgentOptions, parts: AgentParts): Promise<Agent> {
  const { config, env, commandLine = [] } = options;
  const { opened, probe, platform, launch, registry, signal } = parts;
  compileIpCheck();
  const metrics = declareAgentMetrics(registry, parts.envoyMetrics);
  const log = options.log.logger;
  let envoy: EnvoyHandle | undefined;
  let cause: string | undefined;
  let quit: () => void = () => undefined;
  const quitRequested = new Promise<void>((resolve) => {
    quit = resolve;
  });

  // First, so that the kubelet gets an answer with a reason from the beginning, and last to go.
  const readiness = createReadiness(log);
  const starting = readiness.take("agent", "starting");
  const actions = {
    drain: async () => {
      readiness.take("agent", "draining");
      await envoy?.drain();
    },
    quit: () => {
      if (config.status.rules.quitsAtOnce) envoy?.disableDrain();
      else cause ??= "received signal: terminated";
      // Older generations sent themselves the signal that ends a pod, which drains first.
      if (cause === undefined || envoy === undefined) quit();
      else void envoy.terminate().finally(quit);
    },
  };
  const statusOptions = {
    ...config.status,
    readiness,
    actions,
    registry,
    metrics: metrics.scrape,
    commandLine,
    log: options.log,
  };
  const status = await step("failed to start status server", () => startStatus(statusOptions));
  if (status !== undefined) opened.add(status);

  if (config.agent.iptablesTraceLogging) {
    const { startNflogReader } = await import("../capture/index.ts");
    opened.add(await startNflogReader({ log: log.scope("iptables") }));
  }
  const dnsOptions = config.dns && { ...config.dns, log: log.scope("dns"), metrics: metrics.dns };
  const dns =
    dnsOptions && opened.add(await step("failed to start local DNS server", () => startDnsServer(dnsOptions)));
  const tokens = startTokenFetcher({ ...config.identity.tokens, log });
  if (tokens !== undefined) opened.add(tokens);
  const metadata = platform.then((found) => found.metadata);
  metadata.catch(() => undefined);
  const exchangeOptions = config.sts && { ...config.sts, metadata, log, signal };
  const exchange = exchangeOptions && opened.add(await step(undefined, () => startTokenExchange(exchangeOptions)));
  const reserved = await launch.sockets;
  const bundle = createLateBundle(log);
  const xdsParts = { dns, tokens, exchange, setTrustBundle: bundle.set, reserved: reserved.xds, env, metrics, log };
  if (launch.sds.mode === "workload") requireMachineRoot(config);
  const xds = servesXds(config) ? opened.add(await connectXds(config, xdsParts)) : undefined;
  // While Envoy starts, and before the CA is asked: it needs its configuration first.
  xds?.prepare();
  const identityParts = { opened, platform, tokens, sds: launch.sds, reserved: reserved.sds, metrics, log, signal };
  const secrets = await connectIdentity(config, identityParts);
  bundle.attach(secrets);
  if (config.generation.hasGatewaySds) {
    const { startGatewaySds } = await import("../sds/index.ts");
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
    const gateway = {
      namespace: config.agent.namespace,
      apiServer: { host, port },
      metrics: metrics.sds,
      log: log.scope("sds"),
      signal,
    };
    const isGateway = config.role.type !== "sidecar";
    const started = isGateway && (await step("failed to start gateway SDS", () => startGatewaySds(gateway)));
    if (started) opened.add(started);
    else log.info("Skipping gateway SDS");
  }
  if (xds !== undefined) readiness.addNote(() => xds.notice());
  status?.addDebugPages({ dns, secrets, xds });

  const { grpcBootstrapPath } = config.agent;
  if (grpcBootstrapPath !== "") {
    const inputs = await readBootstrapInputs(await launch.sources);
    const target = { path: grpcBootstrapPath, outputCerts: config.identity.secrets.output?.directory ?? "" };
    await writeGrpcBootstrap(inputs, target, { log, owner: config.envoy.user });
  }

  if (launch.envoy !== undefined) {
    const tracked = createEnvoyReadiness({
      readiness,
      secrets,
      log,
      rules: config.generation.envoy.readiness,
      uptimeMs: options.uptimeMs,
      terminationCause: () => cause,
      onFirstReady: (uptimeMs) => metrics.envoy.startupSeconds.set(uptimeMs / 1000),
    });
    launch.followPhases(tracked.onPhase);
    const running = await launch.envoy;
    envoy = running;
    opened.defer(() => running.stop()); // the first to go
    tracked.watch(running.admin);
    readiness.addCheck("envoy", envoyLivenessCheck(running.admin));
    if (running.isHotRestartable) {
      opened.add(await watchForReload({ config, log, reload: (reason) => running.reload(reason) }));
    }
  }
  if (config.console !== undefined) {
    const { connectConsole } = await import("./connect-console.ts");
    const consoleParts = {
      opened,
      readiness,
      secrets,
      xds,
      dns,
      envoy,
      exits: launch.exits,
      log: log.scope("console"),
    };
    await connectConsole(config, config.console, consoleParts);
  }
  if (grpcBootstrapPath !== "") readiness.addCheck("grpc bootstrap", grpcBootstrapCheck(grpcBootstrapPath));
  if (dns !== undefined) readiness.addCheck("dns", async () => dns.notReadyReason());
  if (xds !== undefined) {
    const health = await connectHealth(config, { probe, xds, admin: envoy?.admin, uptimeMs: options.uptimeMs, log });
    if (health !== undefined) opened.add(health);
  }
  starting.release();

  const owned = opened.move();
  return toHandle({
    statusPort: status?.port,
    ended: Promise.race([
      quitRequested,
      ...(envoy === undefined ? [] : [envoy.ended]),
      ...(status === undefined ? [] : [status.ended]),
    ]),
    async terminate(reason: string) {
      cause ??= reason;
      await envoy?.terminate();
    },
    reload: (reason: string) => envoy?.reload(reason),
    async stop() {
      parts.stopping.abort();
      await owned.close();
    },
  });
}
