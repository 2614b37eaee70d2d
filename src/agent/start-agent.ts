import { CloseStack } from "../base/close-stack.ts";
import { toHandle } from "../base/handle.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { wait } from "../base/wait.ts";
import { writeGrpcBootstrap } from "../bootstrap/index.ts";
import { startPlatformDetection } from "../config/index.ts";
import type { EnvoyHandle } from "../envoy/index.ts";
import { createReadiness, envoyLivenessCheck, grpcBootstrapCheck, statusRules } from "../status/index.ts";
import { readBootstrapInputs } from "./bootstrap-inputs.ts";
import { connectDns } from "./connect-dns.ts";
import { connectEnvoy, prepareBootstrap } from "./connect-envoy.ts";
import { connectHealth, readWorkloadProbe } from "./connect-health.ts";
import { connectIdentity, decideSds } from "./connect-identity.ts";
import { connectStatus } from "./connect-status.ts";
import { connectTokens } from "./connect-tokens.ts";
import { connectXds } from "./connect-xds.ts";
import { addDebugRoutes } from "./debug-routes.ts";
import { createEnvoyReadiness } from "./envoy-readiness.ts";
import { findBinary } from "./find-binary.ts";
import { declareAgentMetrics } from "./metrics.ts";
import type { Agent, StartAgentOptions } from "./options.ts";
import { proxyUser } from "./proxy-user.ts";
import { waitForPlatform } from "./wait-for-platform.ts";
import { watchForReload } from "./watch-for-reload.ts";

/** Looking for the platform may hold up Envoy for seconds; the certificate does not wait for that. */
const ISSUE_WITHIN_MS = 100;

/**
 * Builds and connects the parts. The order is deliberate, see docs/architecture.md; the close stack makes the stop its mirror. Parts that
 * few agents have are imported when they are needed: reading their code would delay every start.
 */
export async function startAgent(options: StartAgentOptions): Promise<Agent> {
  const { config, env } = options;
  const log = options.log.logger;
  const registry = new MetricRegistry();
  const metrics = declareAgentMetrics(registry);
  const stopping = new AbortController();
  const signal = options.signal === undefined ? stopping.signal : AbortSignal.any([stopping.signal, options.signal]);
  let envoy: EnvoyHandle | undefined;
  let cause: string | undefined;
  let quit: () => void = () => undefined;
  const quitRequested = new Promise<void>((resolve) => {
    quit = resolve;
  });

  const probe = await readWorkloadProbe(config);

  await using opened = new CloseStack();
  // Slow work that others wait for later: it runs while the sockets below are opened.
  const detection = opened.add(startPlatformDetection({ settings: config.platform, log }));
  const platformKnown = waitForPlatform(config, detection);
  const binary = findBinary(config, env);

  // First, so that the kubelet gets an answer with a reason from the beginning, and last to go.
  const readiness = createReadiness(log);
  const starting = readiness.take("agent", "starting");
  const actions = {
    drain: async () => {
      readiness.take("agent", "draining");
      await envoy?.drain();
    },
    quit: () => {
      if (statusRules(config.status.generation).quitsAtOnce) envoy?.disableDrain();
      else cause ??= "received signal: terminated";
      // Older generations sent themselves the signal that ends a pod, which drains first.
      if (cause === undefined || envoy === undefined) quit();
      else void envoy.terminate().finally(quit);
    },
  };
  const status = await connectStatus(options, { readiness, actions, registry, metrics, opened });

  if (config.agent.iptablesTraceLogging) {
    const { startNflogReader } = await import("../capture/index.ts");
    opened.add(await startNflogReader({ log: log.scope("iptables") }));
  }
  const dns = await connectDns(config, log, metrics.dns);
  if (dns !== undefined) opened.add(dns);
  const tokens = connectTokens(config, log);
  if (tokens !== undefined) opened.add(tokens);
  if (config.generation.hasStsServer && config.security.stsPort > 0) {
    const { connectSts } = await import("./connect-sts.ts");
    opened.add(await connectSts(config, platformKnown, log));
  }
  const sds = await decideSds(config, log);
  const sources = platformKnown.then((platform) => ({ config, env, sds, platform, xdsRootCert: config.xds.rootCa }));
  const prepared = config.envoy.disabled ? undefined : sources.then((known) => prepareBootstrap(known, log));
  prepared?.catch(() => undefined); // told where it is awaited
  // A handshake and a signing request keep the thread busy just when Envoy could be started; it needs the answer much later.
  let envoySpawned: () => void = () => undefined;
  const spawned = new Promise<void>((resolve) => {
    envoySpawned = resolve;
  });
  const issueAfter = config.envoy.disabled ? Promise.resolve() : Promise.race([spawned, wait(ISSUE_WITHIN_MS, signal)]);
  const secrets = await connectIdentity(config, { opened, tokens, sds, issueAfter, metrics, log, signal });
  if (config.generation.hasRegistryFlags) {
    const { connectGatewaySds } = await import("./connect-gateway-sds.ts");
    await connectGatewaySds(config, { opened, env, metrics, log, signal });
  }
  const viaAgent = config.xds.viaAgent && !config.generation.hasRegistryFlags;
  const xds = viaAgent ? opened.add(await connectXds(config, { dns, secrets, tokens, env, metrics, log })) : undefined;
  if (xds !== undefined) readiness.addNote(() => xds.notice());
  if (status !== undefined) addDebugRoutes(status, { dns, secrets, xds });

  const bootstrapSources = await sources;
  const { grpcBootstrapPath } = config.agent;
  if (grpcBootstrapPath !== "") {
    const inputs = await readBootstrapInputs(bootstrapSources);
    const target = { path: grpcBootstrapPath, outputCerts: config.security.outputCerts };
    await writeGrpcBootstrap(inputs, target, { log, owner: proxyUser(config) });
  }

  if (prepared !== undefined) {
    const tracked = createEnvoyReadiness({
      readiness,
      secrets,
      log,
      uptimeMs: options.uptimeMs,
      terminationCause: () => cause,
      onFirstReady: (uptimeMs) => metrics.envoy.startupSeconds.set(uptimeMs / 1000),
    });
    const parts = { ...bootstrapSources, prepared, binary, metrics, log, signal };
    envoy = await connectEnvoy(config, { ...parts, onPhase: tracked.onPhase });
    envoySpawned();
    const running = envoy;
    opened.defer(() => running.stop());
    xds?.prepare(); // while Envoy starts
    tracked.watch(running.admin);
    readiness.addCheck("envoy", envoyLivenessCheck(running.admin));
    if (running.isHotRestartable) {
      for (const watch of watchForReload(config, (reason) => running.reload(reason), log)) opened.add(watch);
    }
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
      stopping.abort();
      await owned.close();
    },
  });
}
