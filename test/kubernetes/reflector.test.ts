import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { readKubeconfig } from "../../src/kubernetes/access/read-kubeconfig.ts";
import { createKubernetesClient, type KubernetesClient } from "../../src/kubernetes/client.ts";
import { declareKubernetesMetrics } from "../../src/kubernetes/metrics.ts";
import type { ApiObject, ResourceKind } from "../../src/kubernetes/objects.ts";
import type { Reflector } from "../../src/kubernetes/reflector/reflector.ts";
import { startReflector } from "../../src/kubernetes/reflector/start-reflector.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => opened.add(await startKubernetes()));

const CONFIG_MAPS: ResourceKind = { group: "", version: "v1", plural: "configmaps", namespace: "default" };
/** Short, so that a frozen server is noticed within a test; a busy one may be slower, which the other tests do not mean. */
const KEEPALIVE = { intervalMs: 1000, timeoutMs: 1000 };

interface Watched extends Reflector<string> {
  readonly changes: string[];
  readonly metrics: MetricRegistry;
  readonly log: ReturnType<typeof recordLog>;
  readonly client: KubernetesClient;
}

const admin = async (
  opened: CloseStack,
  port = cluster().port,
  keepalive?: typeof KEEPALIVE,
): Promise<KubernetesClient> => {
  const given = await readKubeconfig({ paths: [cluster().kubeconfig] });
  const access = { ...given, server: new URL(`https://127.0.0.1:${port}`) };
  return opened.add(createKubernetesClient({ access, env: {}, ...(keepalive && { keepalive }) }));
};

/** Follows the config maps with this label: their member "key". */
async function follow(opened: CloseStack, group: string, given?: KubernetesClient): Promise<Watched> {
  const client = given ?? (await admin(opened));
  const registry = new MetricRegistry();
  const log = recordLog();
  const changes: string[] = [];
  const reflector = opened.add(
    startReflector<string>({
      client,
      resource: { ...CONFIG_MAPS, labelSelector: `group=${group}` },
      reduce: ({ data }: ApiObject) => (data as { key?: string } | undefined)?.key ?? "",
      onChange: (key, after, before) => changes.push(`${key} ${before ?? "-"} > ${after ?? "-"}`),
      log,
      metrics: declareKubernetesMetrics(registry),
    }),
  );
  return Object.assign(reflector, { changes, metrics: registry, log, client });
}

const configMap = (group: string, name: string, key: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `${group}-${name}`, labels: { group } },
  data: { key },
});

const content = (reflector: Reflector<string>) => Object.fromEntries([...reflector.entries()].toSorted());

test("what is there is streamed before the sync, and changes follow in order", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("order", "a", "1"), configMap("order", "b", "1")]);
  const reflector = await follow(opened, "order");
  await reflector.synced;
  expect(content(reflector)).toEqual({ "default/order-a": "1", "default/order-b": "1" });
  expect(reflector.freshness()).toMatchObject({ state: "watching", provedAt: expect.any(Number), problem: undefined });
  await cluster().apply([configMap("order", "a", "2")]);
  await cluster().delete(configMap("order", "b", ""));
  await cluster().apply([configMap("order", "c", "1")]);
  await until("all changes came", () => reflector.changes.length === 5);
  expect(reflector.changes.slice(2)).toEqual([
    "default/order-a 1 > 2",
    "default/order-b 1 > -",
    "default/order-c - > 1",
  ]);
  expect(reflector.metrics.render()).toContain(
    'kubernetes_reflector_lists_total{cluster="",resource="configmaps",how="stream"} 1',
  );
});

test("a change that does not touch what is left of an object is not one", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("same", "a", "1")]);
  const reflector = await follow(opened, "same");
  await reflector.synced;
  const annotated = configMap("same", "a", "1");
  await cluster().apply([{ ...annotated, metadata: { ...annotated.metadata, annotations: { seen: "yes" } } }]);
  await cluster().apply([configMap("same", "a", "2")]);
  await until("the last change came", () => reflector.get("default/same-a") === "2");
  expect(reflector.changes).toEqual(["default/same-a - > 1", "default/same-a 1 > 2"]);
});

test("an API server that is killed leaves the last state, and its changes since then come when it is back", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("kill", "a", "1")]);
  const reflector = await follow(opened, "kill");
  await reflector.synced;
  await cluster().kill();
  await until("the loss is noticed", () => reflector.freshness().problem !== undefined);
  expect(content(reflector)).toEqual({ "default/kill-a": "1" });
  await cluster().restart();
  await cluster().apply([configMap("kill", "a", "2")]);
  await until("the change came", () => reflector.get("default/kill-a") === "2", 60_000);
  await until("the problem is over", () => reflector.freshness().problem === undefined);
});

test("versions that etcd has compacted away cost a list, whose differences are the only changes", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("compact", "a", "1"), configMap("compact", "b", "1")]);
  const proxy = opened.add(await startFreezableProxy(cluster().port));
  const reflector = await follow(opened, "compact", await admin(opened, proxy.port));
  await reflector.synced;
  proxy.hang();
  proxy.cut();
  await cluster().apply([configMap("compact", "b", "2"), configMap("compact", "c", "1")]);
  await cluster().compact();
  // Its memory of events begins after them.
  await cluster().restart();
  proxy.wake();
  await until("the changes came", () => reflector.get("default/compact-c") === "1", 60_000);
  expect(content(reflector)).toEqual({ "default/compact-a": "1", "default/compact-b": "2", "default/compact-c": "1" });
  expect(reflector.changes.slice(2).toSorted()).toEqual(["default/compact-b 1 > 2", "default/compact-c - > 1"]);
  expect(reflector.metrics.render()).toContain('code="gone"');
});

test("an API server that freezes is noticed by its missing answers to pings", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("freeze", "a", "1")]);
  const reflector = await follow(opened, "freeze", await admin(opened, cluster().port, KEEPALIVE));
  await reflector.synced;
  cluster().freeze();
  try {
    await until("the loss is noticed", () => /does not answer pings/.test(reflector.freshness().problem ?? ""), 60_000);
  } finally {
    cluster().thaw();
  }
  await cluster().apply([configMap("freeze", "a", "2")]);
  await until("the change came", () => reflector.get("default/freeze-a") === "2", 60_000);
});

test("a server that is restored from an older snapshot is followed back", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("restore", "a", "1"), configMap("restore", "b", "1")]);
  const snapshot = await cluster().snapshot();
  await cluster().apply([configMap("restore", "a", "2"), configMap("restore", "c", "1")]);
  await cluster().delete(configMap("restore", "b", ""));
  const reflector = await follow(opened, "restore");
  await reflector.synced;
  expect(content(reflector)).toEqual({ "default/restore-a": "2", "default/restore-c": "1" });
  await cluster().restore(snapshot);
  await until("it is as it was", () => reflector.get("default/restore-b") === "1", 90_000);
  await until("what came later is gone", () => reflector.get("default/restore-c") === undefined);
  expect(content(reflector)).toEqual({ "default/restore-a": "1", "default/restore-b": "1" });
  expect(reflector.metrics.render()).toContain('code="resource-version-too-large"');
});

test("a comparison with the server finds nothing where nothing was missed", async () => {
  await using opened = new CloseStack();
  await cluster().apply([configMap("compare", "a", "1")]);
  const reflector = await follow(opened, "compare");
  await reflector.synced;
  const writing = cluster().apply(Array.from({ length: 50 }, (_, index) => configMap("compare", `n${index}`, "1")));
  const nothing = { missing: 0, outdated: 0, leftOver: 0, isComplete: true };
  for (let round = 0; round < 5; round += 1) expect(await reflector.compareWithServer()).toEqual(nothing);
  await writing;
});
