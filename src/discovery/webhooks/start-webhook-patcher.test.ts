import { expect, test } from "vitest";
import { createScriptedCluster } from "../../../test/support/discovery/scripted-cluster.ts";
import { until } from "../../../test/support/wait/until.ts";
import { CodedError } from "../../base/coded-error.ts";
import { silentLogger } from "../../base/logger.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";
import { declareWebhookMetrics } from "./metrics.ts";
import { startWebhookPatcher } from "./start-webhook-patcher.ts";

const SUFFIX = "sidecar-injector.istio.io";
const CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

const configuration = (revision: string, entry: string) => ({
  metadata: { name: "injector", labels: { "istio.io/rev": revision } },
  webhooks: [{ name: entry, clientConfig: {} }],
});

interface Given {
  readonly caBundle?: string;
  /** The code with which the API server refuses the write. */
  readonly refuses?: string;
}

/** A patcher of revision `default` and a cluster with no configuration yet. */
function start({ caBundle = CERTIFICATE, refuses }: Given) {
  const cluster = createScriptedCluster();
  const registry = new MetricRegistry();
  const writes: unknown[] = [];
  const api = {
    patch: async (_resource: unknown, _name: string, patch: unknown) => {
      if (refuses !== undefined) throw new CodedError(refuses, "refused");
      writes.push(patch);
      return configuration("default", `namespace.${SUFFIX}`);
    },
  } as unknown as ClusterApi;
  const patcher = startWebhookPatcher({
    api,
    source: cluster,
    plural: "mutatingwebhookconfigurations",
    entrySuffix: SUFFIX,
    revision: "default",
    caBundle: () => caBundle,
    metrics: declareWebhookMetrics(registry),
    log: silentLogger,
  });
  const set = (revision: string, entry = `namespace.${SUFFIX}`) =>
    cluster.set("mutatingwebhookconfigurations", configuration(revision, entry));
  return { patcher, set, writes, metrics: () => registry.render() };
}

test.each([
  { reason: "load_ca_bundle_failure", given: { caBundle: "no certificate" }, sets: [["default"]] },
  { reason: "webhook_config_not_found", given: { refuses: "not-found" }, sets: [["default"]] },
  { reason: "webhook_update_failure", given: { refuses: "forbidden" }, sets: [["default"]] },
  { reason: "webhook_entry_not_found", given: {}, sets: [["default", "other.example"]] },
  { reason: "wrong_revision", given: {}, sets: [["default"], ["canary"]] },
] as const)("a configuration that is not written because of $reason is counted so", async ({ reason, given, sets }) => {
  const { patcher, set, writes, metrics } = start(given);
  await using _running = patcher;
  for (const [revision, entry] of sets) set(revision, entry);
  await until("it is counted", () =>
    expect(metrics()).toContain(`webhook_patch_failures_total{name="injector",reason="${reason}"} 1`),
  );
  expect(writes).toEqual([]);
});

test("a write counts under the ending of the entries, and configurations of other revisions are nobody's failure", async () => {
  const { patcher, set, writes, metrics } = start({});
  await using _running = patcher;
  set("canary");
  set("default");
  await until("it is written", () => expect(writes).toHaveLength(1));
  expect(metrics()).toContain(`webhook_patch_attempts_total{name="${SUFFIX}"} 1`);
  expect(metrics()).not.toContain("webhook_patch_failures_total{");
});
