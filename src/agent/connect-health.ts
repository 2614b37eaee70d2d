import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { AgentConfig } from "../config/index.ts";
import { type AdminClient, envoyReadinessProbe } from "../envoy/index.ts";
import { type HealthCheckConfig, healthRules, readHealthConfig, startHealthChecker } from "../workload-health/index.ts";
import type { XdsProxy } from "../xds-proxy/index.ts";
import { step } from "./agent-error.ts";

const WHAT = "failed to start workload health check";

export interface HealthParts {
  readonly probe: HealthCheckConfig | undefined;
  readonly xds: XdsProxy;
  /** Absent: an agent without Envoy. */
  readonly admin: AdminClient | undefined;
  readonly uptimeMs: () => number;
  readonly log: Logger;
}

/** What the proxy configuration asks for, undefined without a probe. A wrong one ends the start before anything is running. */
export async function readWorkloadProbe({
  proxyConfig,
  status,
  role,
}: AgentConfig): Promise<HealthCheckConfig | undefined> {
  const { readinessProbe } = proxyConfig;
  if (readinessProbe === undefined) return undefined;
  const [firstIp] = role.ipAddresses;
  const defaultHost = firstIp === undefined || status.legacyLocalhostProbes ? "localhost" : firstIp;
  return step(WHAT, async () => readHealthConfig(readinessProbe, defaultHost, healthRules(status.generation)));
}

/** Undefined when there is no probe. */
export async function connectHealth(config: AgentConfig, parts: HealthParts): Promise<Handle | undefined> {
  const { probe: asked } = parts;
  if (asked === undefined) return undefined;
  const { status, role } = config;
  const own = new Set(["localhost", "127.0.0.1", "::1", ...role.ipAddresses]);
  const log = parts.log.scope("healthcheck");
  return step(WHAT, async () => {
    const probe =
      parts.admin === undefined
        ? undefined
        : envoyReadinessProbe({ admin: parts.admin, log: quiet(log), uptimeMs: parts.uptimeMs });
    return startHealthChecker({
      config: asked,
      rules: healthRules(status.generation),
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
