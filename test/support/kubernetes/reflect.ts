import type { CloseStack } from "../../../src/base/close-stack.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { ClusterAccess } from "../../../src/kubernetes/access/cluster-access.ts";
import { createKubernetesClient } from "../../../src/kubernetes/client.ts";
import { declareKubernetesMetrics } from "../../../src/kubernetes/metrics.ts";
import type { ResourceKind } from "../../../src/kubernetes/objects.ts";
import type { Reflector } from "../../../src/kubernetes/reflector/reflector.ts";
import { startReflector } from "../../../src/kubernetes/reflector/start-reflector.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";

export const THINGS: ResourceKind = { group: "test.example", version: "v1", plural: "things" };

export interface Reflected extends Reflector<number> {
  /** `key before > after`. */
  readonly changes: string[];
  /** Versions of what is held, by key. */
  readonly versions: Map<string, string>;
  readonly log: RecordedLog;
  readonly metrics: MetricRegistry;
  content(): Record<string, number>;
}

/** Follows the `value` of the things of a scripted server, with short pauses after failures. */
export function reflectThings(opened: CloseStack, access: ClusterAccess, afterLossMs = 60_000): Reflected {
  const client = opened.add(createKubernetesClient({ access, env: {} }));
  const metrics = new MetricRegistry();
  const log = recordLog();
  const changes: string[] = [];
  const versions = new Map<string, string>();
  const reflector = opened.add(
    startReflector<number>({
      client,
      resource: THINGS,
      reduce: ({ value }) => (typeof value === "number" ? value : undefined),
      onChange: (key, after, before) => changes.push(`${key} ${before ?? "-"} > ${after ?? "-"}`),
      onVersion: (key, version) => void (version === undefined ? versions.delete(key) : versions.set(key, version)),
      backoff: { initialMs: 5, maxMs: 50, factor: 2, jitter: 0 },
      comparisons: { everyMs: 60_000, afterLossMs },
      log,
      metrics: declareKubernetesMetrics(metrics),
    }),
  );
  const content = () => Object.fromEntries([...reflector.entries()].toSorted());
  return Object.assign(reflector, { changes, versions, log, metrics, content });
}
