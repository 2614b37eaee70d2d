import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { type AdminClient, envoyReadinessProbe } from "../envoy/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { type HealthCheckConfig, readHealthConfig, startHealthChecker } from "../workload-health/index.ts";
import type { XdsProxy } from "../xds-proxy/index.ts";
import { step } from "./agent-error.ts";

export interface HealthParts {
  readonly probe: HealthCheckConfig | undefined;
  readonly xds: XdsProxy;
  /** Absent: an agent without Envoy. */
  readonly admin: AdminClient | undefined;
  readonly uptimeMs: () => number;
  readonly log: Logger;
}

/** Undefined when there is no probe. */
export async function connectHealth(config: AgentConfig, parts: HealthParts): Promise<Handle | undefined> {
  const { probe: asked } = parts;
  if (asked === undefined) return undefined;
  const { status, role, generation } = config;
  const own = new Set(["localhost", "127.0.0.1", "::1", ...role.ipAddresses]);
  const log = parts.log.scope("healthcheck");
  return step(HEALTH_STEP, async () => {
    const probe =
      parts.admin === undefined
        ? undefined
        : envoyReadinessProbe({
            admin: parts.admin,
            log: quiet(log),
            rules: generation.envoy.readiness,
            uptimeMs: parts.uptimeMs,
          });
    return startHealthChecker({
      config: asked,
      rules: generation.health,
      ...(probe !== undefined && { envoy: () => probe.check() }),
      source: { localAddress: status.probeSourceAddress, isOwnAddress: (host) => own.has(host) },
      report: (event) => parts.xds.reportHealth(event),
      log,
    });
  });
}

/** The start-up line belongs to the agent's own readiness. */
function quiet(log: Logger): Logger {
  return { ...log, info: () => undefined };
}

const HEALTH_STEP = "failed to start workload health check";

/** What the proxy configuration asks for, undefined without a probe. A wrong one ends the start before anything is running. */
export async function readWorkloadProbe(config: AgentConfig): Promise<HealthCheckConfig | undefined> {
  const { proxyConfig, status, role, generation } = config;
  const { readinessProbe } = proxyConfig;
  if (readinessProbe === undefined) return undefined;
  const [firstIp] = role.ipAddresses;
  const defaultHost = firstIp === undefined || status.legacyLocalhostProbes ? "localhost" : firstIp;
  return step(HEALTH_STEP, async () => readHealthConfig(readinessProbe, defaultHost, generation.health));
}
