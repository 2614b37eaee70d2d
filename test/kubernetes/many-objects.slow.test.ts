import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { readKubeconfig } from "../../src/kubernetes/access/read-kubeconfig.ts";
import { createKubernetesClient } from "../../src/kubernetes/client.ts";
import { declareKubernetesMetrics } from "../../src/kubernetes/metrics.ts";
import { startReflector } from "../../src/kubernetes/reflector/start-reflector.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => opened.add(await startKubernetes()));
const COUNT = 20_000;
const MAPS = { group: "", version: "v1", plural: "configmaps", namespace: "default" };

test("20,000 objects are followed, with one of more than a megabyte, and compared in pages", async () => {
  await using opened = new CloseStack();
  const access = await readKubeconfig({ paths: [cluster().kubeconfig] });
  const client = opened.add(createKubernetesClient({ access, env: {} }));
  const create = (name: string, annotations: Record<string, string> = {}) =>
    client.create(MAPS, { metadata: { name, annotations }, data: { key: "value" } });
  let made = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (; made < COUNT; ) {
        made += 1;
        await create(`many-${made}`);
      }
    }),
  );
  let changes = 0;
  const reflector = opened.add(
    startReflector<number>({
      client,
      resource: MAPS,
      reduce: ({ metadata }) => Object.keys(metadata.annotations ?? {}).length,
      onChange: () => {
        changes += 1;
      },
      log: silentLogger,
      metrics: declareKubernetesMetrics(new MetricRegistry()),
    }),
  );
  await reflector.synced;
  expect([reflector.size, changes]).toEqual([COUNT, COUNT]);
  // An API server takes 256 KiB of annotations, and 1 MiB of data.
  await create("large", { text: "x".repeat(250_000) });
  await client.patch(MAPS, "large", { data: { text: "y".repeat(1_000_000) } }, { type: "merge" });
  await until("the large one came", () => reflector.get("default/large") === 1);
  expect(await reflector.compareWithServer()).toEqual({ missing: 0, outdated: 0, leftOver: 0, isComplete: true });
});
