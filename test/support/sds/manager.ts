import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { declareIdentityMetrics } from "../../../src/identity/metrics.ts";
import type { SecretManagerOptions } from "../../../src/identity/secret-manager-options.ts";
import { SPIFFE_ID } from "../certs/test-ca.ts";

/** Options of a manager whose keys are quick to make and whose waits are short. */
export function managerOptions(
  given: Partial<SecretManagerOptions> & Pick<SecretManagerOptions, "caClient">,
  registry: MetricRegistry = new MetricRegistry(),
): SecretManagerOptions {
  return {
    key: { type: "ecdsa", curve: "P256" },
    pkcs8: true,
    hosts: [SPIFFE_ID],
    ttlSeconds: 3600,
    renewal: { ratio: 0.5, jitter: 0 },
    fileDebounceMs: 20,
    fileWaitMs: 400,
    metrics: declareIdentityMetrics(registry),
    log: silentLogger,
    ...given,
    tuning: { backoff: { initialMs: 20, maxMs: 100, factor: 1.5, jitter: 0 }, minGapMs: 0, ...given.tuning },
  };
}
