import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { readKubeconfig } from "../../src/kubernetes/access/read-kubeconfig.ts";
import { createKubernetesClient, type KubernetesClient } from "../../src/kubernetes/client.ts";
import { declareKubernetesMetrics } from "../../src/kubernetes/metrics.ts";
import type { ResourceKind } from "../../src/kubernetes/objects.ts";
import { startReflector } from "../../src/kubernetes/reflector/start-reflector.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const clusters = sharedPlace(["kubernetes"], async (opened) => {
  const [first, second] = await Promise.all([startKubernetes(), startKubernetes()]);
  return { first: opened.add(first), second: opened.add(second) };
});

const core = (plural: string, namespace?: string): ResourceKind => ({
  group: "",
  version: "v1",
  plural,
  ...(namespace !== undefined && { namespace }),
});
const SECRETS = core("secrets", "default");

async function clientFor(opened: CloseStack, cluster: Kubernetes, user?: object, port?: number) {
  const path = join(cluster.folder, `user-${Math.random().toString(36).slice(2)}.kubeconfig`);
  const text = user === undefined ? "" : cluster.kubeconfigFor(user);
  writeFileSync(path, port === undefined ? text : text.replace(new URL(cluster.server).port, String(port)));
  const access = await readKubeconfig({ paths: [user === undefined ? cluster.kubeconfig : path] });
  return opened.add(createKubernetesClient({ access, env: {} }));
}

function follow(opened: CloseStack, client: KubernetesClient, resource: ResourceKind) {
  const reflector = startReflector<string>({
    client,
    resource,
    reduce: ({ metadata }) => metadata.uid ?? "",
    onChange: () => undefined,
    log: silentLogger,
    metrics: declareKubernetesMetrics(new MetricRegistry()),
  });
  return opened.add(reflector);
}

const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
const role = (name: string, resources: readonly string[]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name, namespace: "default" },
  rules: [{ apiGroups: [""], resources, verbs: ["get", "list", "watch"] }],
});
const binding = (name: string) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name, namespace: "default" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
  subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
});

test("a right that is taken away for one kind stops that kind alone, by a message with verb and resource, until it is given back", async () => {
  await using opened = new CloseStack();
  const cluster = clusters().first;
  await cluster.apply([account("reader"), role("reader", ["secrets", "configmaps"]), binding("reader")]);
  const token = await cluster.token({ namespace: "default", account: "reader" });
  const wire = opened.add(await startFreezableProxy(Number(new URL(cluster.server).port)));
  const client = await clientFor(opened, cluster, { token }, wire.port);
  const secrets = follow(opened, client, SECRETS);
  const configMaps = follow(opened, client, core("configmaps", "default"));
  await Promise.all([secrets.synced, configMaps.synced]);
  await cluster.apply([role("reader", ["configmaps"])]);
  // A watch that is open stays open; the next one is refused.
  wire.cut();
  const message =
    /cannot (list|watch) secrets in namespace default: 403 Forbidden: .*cannot (list|watch) resource "secrets"/;
  await until("the loss is named", () => message.test(secrets.freshness().problem ?? ""), 60_000);
  const written = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "seen" } };
  await cluster.apply([written]);
  await until("the other kind goes on", () => configMaps.get("default/seen") !== undefined, 60_000);
  await cluster.apply([{ apiVersion: "v1", kind: "Secret", metadata: { name: "seen" } }]);
  await cluster.apply([role("reader", ["secrets", "configmaps"])]);
  await until("the kind is back", () => secrets.get("default/seen") !== undefined, 60_000);
});

test("a token that was rotated in its file is taken, and one of another audience is refused", async () => {
  await using opened = new CloseStack();
  const cluster = clusters().first;
  await cluster.apply([account("rotated"), role("rotated", ["configmaps"]), binding("rotated")]);
  const file = join(cluster.folder, "rotated.token");
  const issue = (audiences?: readonly string[]) =>
    cluster.token({ namespace: "default", account: "rotated", ...(audiences && { audiences }) });
  writeFileSync(file, await issue(["elsewhere"]));
  const client = await clientFor(opened, cluster, { tokenFile: file });
  await expect(client.list(core("configmaps", "default"))).rejects.toMatchObject({ code: "unauthorized" });
  writeFileSync(file, await issue());
  expect((await client.list(core("configmaps", "default"))).resourceVersion).toMatch(/^\d+$/);
});

test("reviews, impersonation, conflicts and server-side apply work as the API has them", async () => {
  await using opened = new CloseStack();
  const cluster = clusters().first;
  const client = await clientFor(opened, cluster);
  const token = await cluster.token({ namespace: "default", account: "default", audiences: ["mesh"] });
  const review = await client.create(
    { group: "authentication.k8s.io", version: "v1", plural: "tokenreviews" },
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences: ["mesh"] } },
  );
  expect(review.status).toMatchObject({
    authenticated: true,
    user: { username: "system:serviceaccount:default:default" },
  });
  const maps = core("configmaps", "default");
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: { a: "1" } };
  const stored = await client.patch(maps, "applied", applied, { type: "apply", fieldManager: "one" });
  await client.patch(maps, "applied", { data: { b: "2" } }, { type: "merge" });
  await expect(client.update(maps, stored)).rejects.toMatchObject({ code: "conflict" });
  await expect(client.create(maps, applied)).rejects.toMatchObject({ code: "already-exists" });
  expect(await client.get(maps, "applied")).toMatchObject({ data: { a: "1", b: "2" } });
  await client.delete(maps, "applied");
  await expect(client.get(maps, "applied")).rejects.toMatchObject({ code: "not-found" });
  const asNobody = await clientFor(opened, cluster, { token: cluster.adminToken, as: "stranger" });
  await expect(asNobody.list(maps)).rejects.toThrow('User "stranger" cannot list resource "configmaps"');
});

test("two clusters are followed side by side, and one that is away does not hold up the other", async () => {
  await using opened = new CloseStack();
  const { first, second } = clusters();
  const [one, two] = [await clientFor(opened, first), await clientFor(opened, second)];
  const followed = [follow(opened, one, core("namespaces")), follow(opened, two, core("namespaces"))];
  await Promise.all(followed.map((each) => each.synced));
  await second.kill();
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "added" } };
  await first.apply([namespace]);
  await until("the first goes on", () => followed[0]?.get("added") !== undefined);
  expect(followed[1]?.get("default")).toBeDefined();
  await second.restart();
  await second.apply([namespace]);
  await until("the second is back", () => followed[1]?.get("added") !== undefined, 60_000);
});
