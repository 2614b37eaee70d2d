import { CloseStack } from "../base/close-stack.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { wait } from "../base/wait.ts";
import { declareEnvoyMetrics } from "../envoy/index.ts";
import { startPlatformDetection, waitForPlatform } from "../platform/index.ts";
import { readWorkloadProbe } from "./connect-health.ts";
import { launchEnvoy } from "./launch-envoy.ts";
import type { Agent, StartAgentOptions } from "./options.ts";

/** Usually Envoy is spawned within less; where its bootstrap has to wait for something, the other parts do not. */
const HEAD_START_MS = 30;

/**
 * Envoy first, then the parts it will talk to: it takes longer to start than all of them, and their code is loaded while it does.
 * The order is deliberate, see docs/architecture.md.
 */
export async function startAgent(options: StartAgentOptions): Promise<Agent> {
  const { config, env } = options;
  const log = options.log.logger;
  const registry = new MetricRegistry();
  const envoyMetrics = declareEnvoyMetrics(registry);
  const stopping = new AbortController();
  const signal = options.signal === undefined ? stopping.signal : AbortSignal.any([stopping.signal, options.signal]);
  const probe = await readWorkloadProbe(config);

  await using opened = new CloseStack();
  const detection = opened.add(startPlatformDetection({ settings: config.platform, log }));
  // A start that is cancelled does not wait for a cloud that does not answer.
  signal.addEventListener("abort", () => void detection.stop(), { once: true });
  const platform = waitForPlatform(config.platform, detection);
  const launch = await launchEnvoy(config, { opened, env, platform, metrics: envoyMetrics, log, signal });
  opened.defer(async () => (await launch.envoy?.catch(() => undefined))?.stop());
  try {
    await headStart(launch.envoy, signal);
    const { connectParts } = await import("./connect-parts.ts");
    return await connectParts(options, { opened, probe, platform, launch, registry, envoyMetrics, stopping, signal });
  } catch (failure) {
    stopping.abort();
    throw failure;
  }
}

async function headStart(envoy: Promise<unknown> | undefined, signal: AbortSignal): Promise<void> {
  if (envoy === undefined) return;
  const over = new AbortController();
  try {
    await Promise.race([envoy, wait(HEAD_START_MS, AbortSignal.any([signal, over.signal]))]);
  } finally {
    over.abort();
  }
}
